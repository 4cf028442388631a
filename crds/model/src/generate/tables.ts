/** Schemas as Markdown tables: one row per member, nested ones with dots; `*` is any name of a map. */
import { valuesOf } from "@sluice/plugin-sdk";
import type { SpecNode } from "../resources/kind.ts";

export function memberTable(node: SpecNode): string {
  const rows = memberRows(node, "", new Set(node.required));
  return ["| field | type | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function memberRows(node: SpecNode, prefix: string, required: ReadonlySet<string>): readonly string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const given = required.has(name) ? "required" : defaultOf(member);
    const meaning = cell([member.description ?? "", ...limits(member), ...references(member)]);
    const row = `| \`${path}\` | ${typeOf(member)} | ${given} | ${meaning} |`;
    const { items, additionalProperties: values } = member;
    const isMap = typeof values === "object";
    const inner = items ?? (isMap ? values : member);
    const innerPrefix = items ? `${path}[].` : isMap ? `${path}.*.` : `${path}.`;
    return [row, ...memberRows(inner, innerPrefix, new Set(inner.required))];
  });
}

function typeOf(node: SpecNode): string {
  if (node.type === "array" && node.items) return `list of ${typeOf(node.items)}`;
  if (typeof node.additionalProperties === "object") return `map of ${typeOf(node.additionalProperties)}`;
  if (node.enum) return node.enum.map((word) => `\`${word}\``).join(", ");
  if (node.intOrString) return "integer or string";
  return node.type ?? "any";
}

function defaultOf(node: SpecNode): string {
  return node.default === undefined || node.default === null ? "" : `\`${JSON.stringify(node.default)}\``;
}

const references = (node: SpecNode): readonly string[] =>
  node.referenceable || node.items?.referenceable || valuesOf(node)?.referenceable
    ? ["Values may be references, such as `{vault://env/NAME}`."]
    : [];

function limits(node: SpecNode): readonly string[] {
  const facts = [
    ...range(node.minimum, node.maximum, (number) => `${number}`),
    ...(node.exclusiveMinimum === undefined ? [] : [`more than ${node.exclusiveMinimum}`]),
    ...range(undefined, node.maxLength, (number) => `${number} characters`),
    ...range(undefined, node.maxItems, (number) => (number === 1 ? "1 item" : `${number} items`)),
    ...range(undefined, node.maxProperties, (number) => `${number} names`),
  ];
  return facts.length > 0 ? [`(${facts.join(", ")})`] : [];
}

function range(low: number | undefined, high: number | undefined, word: (number: number) => string): readonly string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${word(high)}`];
  if (high !== undefined) return [`at most ${word(high)}`];
  return low === undefined ? [] : [`at least ${word(low)}`];
}

/**
 * Escapes pipes, which would end the cell, and stars and angle brackets, which Markdown and HTML would interpret
 * outside of code spans. In a code span, a backslash before them would be visible.
 */
const cell = (sentences: readonly string[]): string =>
  sentences
    .filter((sentence) => sentence !== "")
    .join(" ")
    .replace(/`[^`]*`|[|<>*]/g, (text) => (text.length > 1 ? text.replaceAll("|", "\\|") : `\\${text}`));
