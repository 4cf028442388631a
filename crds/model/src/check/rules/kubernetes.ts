/** Values as the core API of Kubernetes writes them, with its formats (k8s.io/apimachinery). */
import type { TextRule } from "./rule.ts";

/** A quantity that is not negative. */
const QUANTITY = /^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

const isName = (value: string): boolean => value.length <= 63 && NAME.test(value);

function isQualifiedName(value: string): boolean {
  const [first = "", second, ...more] = value.split("/");
  if (second === undefined) return isName(first);
  return more.length === 0 && first.length <= 253 && SUBDOMAIN.test(first) && isName(second);
}

export const kubernetesRules = {
  quantity: (value) =>
    QUANTITY.test(value) ? undefined : `not a quantity: ${value}; write 500m or 2 for CPU, 256Mi for memory`,
  /** The key of a label. */
  "qualified-name": (value) =>
    isQualifiedName(value) ? undefined : `not the key of a label: ${value}; write NAME or PREFIX/NAME`,
  "label-value": (value) => (value === "" || isName(value) ? undefined : `not the value of a label: ${value}`),
  percentage: (value) =>
    /^(100|[1-9]?[0-9])%$/.test(value) ? undefined : `expected an integer, or a percentage such as 25%, not ${value}`,
} satisfies Readonly<Record<string, TextRule>>;
