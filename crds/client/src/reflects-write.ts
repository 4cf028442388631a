/** Whether a reader of resources has caught up with a writer. */
import type { WrittenResource } from "@sluice/model";
import type { Resource } from "./resource.ts";

/**
 * In a cluster, the versions of one resource are increasing numbers (KEP-5504); in a directory, they are opaque
 * strings.
 */
const atLeast = (is: string | undefined, wanted: string): boolean =>
  is === wanted || (/^\d+$/.test(is ?? "") && /^\d+$/.test(wanted) && BigInt(is ?? 0) >= BigInt(wanted));

/** Whether the resource as read (undefined: absent) is at the state of the write or newer. */
export function reflectsWrite(resource: Resource | undefined, written: WrittenResource): boolean {
  if (written.deleted) return !resource || (written.uid !== undefined && resource.metadata.uid !== written.uid);
  if (!resource || (written.uid !== undefined && resource.metadata.uid !== written.uid)) return false;
  if (written.generation !== undefined) return (resource.metadata.generation ?? 0) >= written.generation;
  return written.resourceVersion === undefined || atLeast(resource.metadata.resourceVersion, written.resourceVersion);
}
