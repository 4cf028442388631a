/**
 * Generates the JSON schema, the TypeScript type and the reference page of the chart's values from values.yaml and its
 * comments.
 */
import { readFileSync } from "node:fs";
import { isMap, isScalar, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { type GeneratedFile, generatedPage } from "../../crds/model/src/generate/files.ts";
import { printJson } from "./print-json.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A documented value of the chart. If it is a map, users choose its members. */
export interface ChartValue {
  /** With dots: `gateway.service.port`. */
  readonly path: string;
  readonly description: string;
  readonly schema: Schema;
  readonly fallback: unknown;
}

const quantity = { type: "string", pattern: "^[0-9.]+(m|k|M|G|T|Ki|Mi|Gi|Ti)?$" };
const resourceList = {
  type: "object",
  additionalProperties: { anyOf: [quantity, { type: "number", exclusiveMinimum: 0 }] },
};

const definitions: Readonly<Record<string, Schema>> = {
  quantity,
  labels: { type: "object", additionalProperties: { type: "string" } },
  env: {
    type: "object",
    propertyNames: { pattern: "^[A-Z][A-Z0-9_]*$" },
    additionalProperties: { type: ["string", "number", "boolean"] },
  },
  resources: {
    type: "object",
    properties: { requests: resourceList, limits: resourceList },
    additionalProperties: false,
  },
};

/**
 * All values in the order of the file.
 *
 * @throws Error for a value without a comment, and for a text that is not a map.
 */
export function chartValues(text: string): readonly ChartValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error("the chart's values are not a map");
  return valuesIn(contents, []);
}

function valuesIn(map: YAMLMap, above: readonly string[]): readonly ChartValue[] {
  return map.items.flatMap((pair, index) => {
    const path = [...above, String(isScalar(pair.key) ? pair.key.value : pair.key)];
    // The parser attaches the comment of a map's first member to the map.
    const comment = commentOf(pair) ?? (index === 0 ? map.commentBefore : undefined) ?? "";
    const lines = comment.split("\n").map((line) => line.trim());
    const given: Schema = parse(lines.find((line) => line.startsWith("Schema:")) ?? "{}").Schema ?? {};
    const isOpen = "$ref" in given || "additionalProperties" in given;
    if (isMap(pair.value) && pair.value.items.length > 0 && !isOpen) return valuesIn(pair.value, path);
    const description = lines.filter((line) => !line.startsWith("Schema:")).join(" ");
    if (description === "") throw new Error(`values.yaml: no comment says what ${path.join(".")} does`);
    const fallback: unknown = isMap(pair.value) || pair.value ? (pair.value as { toJSON(): unknown }).toJSON() : null;
    return [{ path: path.join("."), description, fallback, schema: schemaOf(fallback, given) }];
  });
}

const commentOf = ({ key }: Pair): string | undefined =>
  (isScalar(key) ? key.commentBefore?.split("\n\n").at(-1) : undefined) ?? undefined;

function schemaOf(fallback: unknown, given: Schema): Schema {
  if ("$ref" in given) return given;
  if (Array.isArray(fallback)) return { type: "array", items: { type: "string" }, ...given };
  if (Number.isInteger(fallback)) return { type: "integer", minimum: 0, ...given };
  if (typeof fallback === "boolean" || typeof fallback === "string") return { type: typeof fallback, ...given };
  return { type: "object", ...given };
}

interface Node {
  readonly type: "object";
  readonly additionalProperties: false;
  readonly properties: Record<string, unknown>;
}

const emptyNode = (): Node => ({ type: "object", additionalProperties: false, properties: {} });

/** The JSON schema with which Helm validates the values. */
export function valuesSchema(values: readonly ChartValue[]): Schema {
  const root = emptyNode();
  for (const { path, description, schema } of values) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let node = root;
    for (const name of names) {
      node.properties[name] ??= emptyNode();
      node = node.properties[name] as Node;
    }
    // In draft 7 the siblings of a `$ref` are ignored.
    node.properties[last] = "$ref" in schema ? schema : { description, ...schema };
  }
  // Helm passes `global` to subcharts.
  root.properties.global = { type: "object" };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the chart sluice",
    ...root,
    definitions,
  };
}

/** The text of the TypeScript type that the values have after all defaults are filled in, for the Pulumi program. */
export function valuesType(schema: Schema): string {
  const { global: _, ...properties } = schema.properties as Readonly<Record<string, Schema>>;
  const head = "// Generated from charts/sluice/values.yaml by `npm run generate`. Do not edit.";
  return `${head}\n\nexport interface Values ${membersOf(properties, { indent: "", mark: "" })}\n`;
}

interface Level {
  readonly indent: string;
  /** `?` for members without a default. */
  readonly mark: "" | "?";
}

function membersOf(properties: Readonly<Record<string, Schema>>, { indent, mark }: Level): string {
  const inner = { indent: `${indent}  `, mark };
  const lines = Object.entries(properties).flatMap(([name, schema]) => [
    ...("description" in schema ? [`${inner.indent}/** ${schema.description} */`] : []),
    `${inner.indent}readonly ${name}${mark}: ${typeOf(schema, inner)};`,
  ]);
  return ["{", ...lines, `${indent}}`].join("\n");
}

function typeOf(schema: Schema, level: Level): string {
  const { $ref, enum: words, anyOf, type, items, properties, additionalProperties: values } = schema;
  if (typeof $ref === "string")
    return typeOf(definitions[$ref.replace("#/definitions/", "")] ?? {}, { ...level, mark: "?" });
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(" | ");
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one, level)).join(" | ");
  if (Array.isArray(type)) return type.map((one) => typeOf({ type: one }, level)).join(" | ");
  if (type === "array") return `readonly ${typeOf(items as Schema, level)}[]`;
  if (type === "integer") return "number";
  if (properties) return membersOf(properties as Readonly<Record<string, Schema>>, level);
  return typeof values === "object" ? `Readonly<Record<string, ${typeOf(values as Schema, level)}>>` : String(type);
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("*", "\\*");

function table(values: readonly ChartValue[]): string {
  const rows = values.map(
    ({ path, description, fallback }) => `| \`${path}\` | \`${JSON.stringify(fallback)}\` | ${cell(description)} |`,
  );
  return ["| value | default | meaning |", "|---|---|---|", ...rows].join("\n");
}

/** The schema, the type and the page, from the chart in the working tree. */
export function chartValueFiles(): readonly GeneratedFile[] {
  const values = chartValues(readFileSync(new URL("../../charts/sluice/values.yaml", import.meta.url), "utf8"));
  const schema = valuesSchema(values);
  const intro =
    "This page lists the values of the chart [charts/sluice](../../charts/sluice/README.md), for `--set` or a values file " +
    "of `helm install`. The chart refuses values that are not in this list.";
  return [
    { path: "charts/sluice/values.schema.json", content: printJson(schema) },
    { path: "pulumi/values.d.ts", content: valuesType(schema) },
    generatedPage(
      "docs/reference/chart-values.md",
      `# Values of the chart\n\n${intro}\n\n${table(values)}`,
      "charts/sluice/values.yaml",
    ),
  ];
}
