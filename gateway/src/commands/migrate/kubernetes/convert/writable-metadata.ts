/** The metadata of an object without the members that an API server sets. */
import type { ManifestObject } from "@sluice/crds";
import { annotationsAt, labelsAt } from "./objects.ts";

/** Annotations about the object itself. */
const bookkeeping = "kubectl.kubernetes.io/last-applied-configuration";

export function writableMetadata(object: ManifestObject): {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
} {
  const { [bookkeeping]: _, ...annotations } = annotationsAt(object);
  const labels = labelsAt(object);
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}
