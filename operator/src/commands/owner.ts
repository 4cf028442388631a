/** Who else brings a cluster its definitions: it has them in one way. Pure. */
import type { ClusterObject, Metadata } from "@sluice/crds";

/** Begins the name by which Pulumi's provider writes each of its resources. */
const PULUMI = "pulumi-kubernetes";
const LABEL = "app.kubernetes.io/managed-by";

/**
 * Whose the definition is, and how to go on with it, as the rest of a sentence; null when nobody but kubectl and this
 * command wrote it.
 */
export function ownerOf({ metadata }: ClusterObject): string | null {
  const { labels = {}, annotations = {}, managedFields = [] } = metadata as Partial<Metadata>;
  if (labels[LABEL] === "Helm") {
    const [namespace, name] = ["namespace", "name"].map((part) => annotations[`meta.helm.sh/release-${part}`] ?? "?");
    return `belongs to Helm's release ${name} in the namespace ${namespace}: upgrade that`;
  }
  const byPulumi = managedFields.some(({ manager, subresource }) => !subresource && manager?.startsWith(PULUMI));
  return byPulumi || labels[LABEL]?.toLowerCase() === "pulumi"
    ? "belongs to a stack of Pulumi: run `pulumi up` there"
    : null;
}
