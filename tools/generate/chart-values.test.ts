import assert from "node:assert/strict";
import { test } from "node:test";
import { chartValues, valuesSchema, valuesType } from "./chart-values.ts";

const text = `# Notes on the file.

# What a part is called.
# Schema: {pattern: "^[a-z]+$"}
name: one
part:
  # How many.
  replicas: 2
  # Schema: {$ref: "#/definitions/labels"}
  # Where.
  nodeSelector: {}
  # Who.
  from: [{ a: 1 }]
# Labels.
# Schema: {additionalProperties: {type: string}}
labels:
  a: b
`;

test("values are described by their comments, and have the types of their defaults", () => {
  const values = chartValues(text).map(({ path, description, schema }) => [path, description, schema]);
  assert.deepEqual(values, [
    ["name", "What a part is called.", { type: "string", pattern: "^[a-z]+$" }],
    ["part.replicas", "How many.", { type: "integer", minimum: 0 }],
    ["part.nodeSelector", "Where.", { $ref: "#/definitions/labels" }],
    ["part.from", "Who.", { type: "array", items: { type: "string" } }],
    ["labels", "Labels.", { type: "object", additionalProperties: { type: "string" } }],
  ]);
});

test("the schema has every value and `global`, and refuses other values", () => {
  const { properties, additionalProperties } = valuesSchema(chartValues(text)) as {
    properties: { part: { properties: object; additionalProperties: boolean } };
    additionalProperties: boolean;
  };
  assert.deepEqual(Object.keys(properties), ["name", "part", "labels", "global"]);
  assert.deepEqual(Object.keys(properties.part.properties), ["replicas", "nodeSelector", "from"]);
  assert.deepEqual([additionalProperties, properties.part.additionalProperties], [false, false]);
});

test("the type has every value, with the description from the schema", () => {
  const [, ...lines] = valuesType(valuesSchema(chartValues(text)))
    .trimEnd()
    .split("\n\n")
    .join("\n")
    .split("\n");
  assert.deepEqual(lines, [
    "export interface Values {",
    "  /** What a part is called. */",
    "  readonly name: string;",
    "  readonly part: {",
    "    /** How many. */",
    "    readonly replicas: number;",
    "    readonly nodeSelector: Readonly<Record<string, string>>;",
    "    /** Who. */",
    "    readonly from: readonly string[];",
    "  };",
    "  /** Labels. */",
    "  readonly labels: Readonly<Record<string, string>>;",
    "}",
  ]);
});

for (const [what, faulty, words] of [
  ["with a value that no comment describes", "part:\n  replicas: 2\n", /no comment says what part\.replicas does/],
  ["that is a list", "- a\n", /not a map/],
] as const)
  test(`a values file ${what} is refused`, () => assert.throws(() => chartValues(faulty), words));
