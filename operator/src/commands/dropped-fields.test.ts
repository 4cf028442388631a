import assert from "node:assert/strict";
import { test } from "node:test";
import { crds } from "@sluice/model";
import { type Definition, droppedFields, type OpenApiSchema } from "./dropped-fields.ts";

const text = { type: "string" };
const object = (properties: Record<string, OpenApiSchema>, more: OpenApiSchema = {}): OpenApiSchema => ({
  type: "object",
  properties,
  ...more,
});
const definition = (spec: OpenApiSchema, name = "v1alpha1"): Definition => ({
  spec: { versions: [{ name, schema: { openAPIV3Schema: object({ kind: text, metadata: object({}), spec }) } }] },
  status: { storedVersions: [name] },
});
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const list = (items: OpenApiSchema): OpenApiSchema => ({ type: "array", items });
const map = (additionalProperties: OpenApiSchema): OpenApiSchema => ({ type: "object", additionalProperties });

const table: readonly (readonly [
  what: string,
  stored: OpenApiSchema,
  ours: OpenApiSchema,
  dropped: readonly string[],
])[] = [
  ["the same members", object({ a: text }), object({ a: text }), []],
  ["an additional member", object({ a: text }), object({ a: text, b: text }), []],
  ["a removed member", object({ a: text, b: text }), object({ a: text }), ["spec.b"]],
  ["a removed object, which is named once", object({ a: object({ b: text, c: text }) }), object({}), ["spec.a"]],
  ["a removed member inside a member", object({ a: object({ b: text }) }), object({ a: object({}) }), ["spec.a.b"]],
  [
    "a removed member inside a list",
    object({ a: list(object({ b: text })) }),
    object({ a: list(object({})) }),
    ["spec.a[].b"],
  ],
  [
    "a removed member inside a map",
    object({ a: map(object({ b: text })) }),
    object({ a: map(object({})) }),
    ["spec.a.*.b"],
  ],
  [
    "a member of a different type",
    object({ a: text }),
    object({ a: { type: "integer" } }),
    ["spec.a (string in the cluster, integer in this version)"],
  ],
  [
    "a member that allows arbitrary members in the new version",
    object({ a: object({ b: text }) }),
    object({ a: open }),
    [],
  ],
  [
    "a member that allows arbitrary members only in the old version",
    object({ a: open }),
    object({ a: object({}) }),
    ["spec.a.* (arbitrary members)"],
  ],
  ["members that a map replaces", object({ a: object({ b: text }) }), object({ a: map(text) }), []],
  [
    "a removed member with the name of an inherited property",
    object({ constructor: text }),
    object({}),
    ["spec.constructor"],
  ],
];

for (const [what, stored, ours, dropped] of table)
  test(`${what}: ${dropped.length === 0 ? "nothing" : dropped} is reported`, () => {
    assert.deepEqual(droppedFields(definition(stored), definition(ours)), dropped);
  });

test("an unknown version in which objects are stored is named", () => {
  assert.deepEqual(droppedFields(definition(object({}), "v1"), definition(object({}))), ["version v1"]);
});

test("a version without stored objects may be dropped", () => {
  const stored = { ...definition(object({ a: text }), "v1"), status: { storedVersions: ["v1alpha1"] } };
  assert.deepEqual(droppedFields(stored, definition(object({}))), []);
});

for (const [name, ours] of crds())
  test(`${name} loses no member when it is compared with itself`, () => {
    assert.deepEqual(droppedFields(ours as Definition, ours as Definition), []);
  });
