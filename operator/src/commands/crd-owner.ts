/** Detects CRDs that Helm or Pulumi manages: this command must not replace them. Pure. */
import type { ClusterObject, Metadata } from "@sluice/crds";

/** Prefix of the field managers of Pulumi's Kubernetes provider. */
const PULUMI = "pulumi-kubernetes";
const LABEL = "app.kubernetes.io/managed-by";

/**
 * The owner of the CRD and how to upgrade it, as the rest of a sentence; null when only kubectl and this command wrote
 * it.
 */
export function crdOwnerOf({ metadata }: ClusterObject): string | null {
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
