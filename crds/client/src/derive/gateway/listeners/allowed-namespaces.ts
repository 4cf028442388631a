/** Namespaces that `allowedRoutes` and `allowedListeners` allow, and label selectors (metav1.LabelSelector). */
import type { AllowedNamespaces, LabelSelector } from "../gateway-api.ts";

export interface NamespaceFacts {
  readonly namespace: string;
  /** The labels of the namespace; undefined: they are unknown, and no selector matches. */
  readonly namespaceLabels: () => Readonly<Record<string, string>> | undefined;
}

/**
 * Whether a resource may attach from its namespace.
 *
 * @param own The namespace of the resource that has the rule.
 */
export function allowsNamespace(
  { from, selector }: AllowedNamespaces,
  own: string,
  { namespace, namespaceLabels }: NamespaceFacts,
): boolean {
  switch (from) {
    case "All":
      return true;
    case "Same":
      return namespace === own;
    case "Selector": {
      const labels = namespaceLabels();
      return selector !== undefined && labels !== undefined && selectsLabels(selector, labels);
    }
    default:
      return false;
  }
}

/** A part of the message about a refused resource that a selector might select. */
export const UNKNOWN_LABELS =
  ", whose labels are unknown: selectors need an operator with the right to list and watch Namespaces";

/** Whether all requirements hold. A selector without requirements selects everything. */
function selectsLabels(
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
