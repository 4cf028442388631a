/** Simple label selectors: `a`, `!a`, `a=b`, `a!=b`, and comma-separated lists of them; `type=` as a field selector. */
import type { Resource, Selectors } from "../../resource.ts";

type Labels = Readonly<Record<string, string>>;

const part = /^\s*(!?)\s*([\w./-]+)\s*(?:(==|=|!=)\s*([\w.-]*)\s*)?$/;

/**
 * Returns a function that tells whether a resource matches. Throws on other selectors, such as `a in (b, c)` or
 * `metadata.name=a`.
 */
export function parseSelectors({
  labels,
  fields,
}: Pick<Selectors, "labels" | "fields">): (resource: Resource) => boolean {
  const byLabels = parseLabels(labels);
  const [, type] = /^type=(\S+)$/.exec(fields ?? "") ?? [];
  if (fields !== undefined && type === undefined) throw new Error(`unsupported field selector: ${fields}`);
  return (resource) => byLabels(resource.metadata.labels) && (type === undefined || resource.type === type);
}

function parseLabels(selector: string | undefined): (labels: Labels | undefined) => boolean {
  const wanted = (selector ? selector.split(",") : []).map((text) => {
    const [, negated, name = "", operator, value] = part.exec(text) ?? [];
    if (name === "" || (negated && operator)) throw new Error(`unsupported label selector: ${selector}`);
    return (labels: Labels) => {
      if (operator === undefined) return Object.hasOwn(labels, name) !== (negated === "!");
      return (labels[name] === value) !== (operator === "!=");
    };
  });
  return (labels = {}) => wanted.every((matches) => matches(labels));
}
