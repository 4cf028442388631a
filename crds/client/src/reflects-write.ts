/** Whether a reader of resources has caught up with a writer. */
import type { Written } from "@sluice/model";
import type { Resource } from "./resource.ts";

/** Kubernetes versions of one resource are numbers that grow (KEP-5504); a directory's are texts. */
const atLeast = (is: string | undefined, wanted: string): boolean =>
  is === wanted || (/^\d+$/.test(is ?? "") && /^\d+$/.test(wanted) && BigInt(is ?? 0) >= BigInt(wanted));

/** Whether what was read (undefined: nothing) is the resource as its writer left it, or something newer. */
export function reflectsWrite(resource: Resource | undefined, written: Written): boolean {
  if (written.deleted) return !resource || (written.uid !== undefined && resource.metadata.uid !== written.uid);
  if (!resource || (written.uid !== undefined && resource.metadata.uid !== written.uid)) return false;
  if (written.generation !== undefined) return (resource.metadata.generation ?? 0) >= written.generation;
  return written.resourceVersion === undefined || atLeast(resource.metadata.resourceVersion, written.resourceVersion);
}
