/**
 * Simple label selectors: `a`, `!a`, `a=b`, `a!=b`, and comma-separated lists of them; `type=` and `metadata.name=` as
 * field selectors.
 */
import type { Resource, Selectors } from "../../resource.ts";

type Labels = Readonly<Record<string, string>>;

const part = /^\s*(!?)\s*([\w./-]+)\s*(?:(==|=|!=)\s*([\w.-]*)\s*)?$/;

/** Returns a function that tells whether a resource matches. Throws on other selectors, such as `a in (b, c)`. */
export function parseSelectors({
  labels,
  fields,
}: Pick<Selectors, "labels" | "fields">): (resource: Resource) => boolean {
  const byLabels = parseLabels(labels);
  const [, field, value] = /^(type|metadata\.name)=(\S+)$/.exec(fields ?? "") ?? [];
  if (fields !== undefined && field === undefined) throw new Error(`unsupported field selector: ${fields}`);
  const hasField = ({ type, metadata }: Resource) =>
    field === undefined || (field === "type" ? type : metadata.name) === value;
  return (resource) => byLabels(resource.metadata.labels) && hasField(resource);
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
