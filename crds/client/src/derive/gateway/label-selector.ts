/** Label selectors of Kubernetes as objects (metav1.LabelSelector). */
import type { LabelSelector } from "./gateway-api.ts";

/** Whether all requirements hold. A selector without requirements selects everything. */
export function selectsLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const isEqual = Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
  return isEqual && matchExpressions.every(({ key, operator, values = [] }) => meets(labels[key], operator, values));
}

function meets(label: string | undefined, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    default:
      return false;
  }
}
