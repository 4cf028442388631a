import assert from "node:assert/strict";
import { test } from "node:test";
import { changedMembers, errorTexts, otherErrors } from "./draft-changes.ts";
import type { NamedField } from "./schema-fields.ts";

const fields: readonly NamedField[] = [
  { name: "name", field: { type: "string" } },
  { name: "paths", field: { type: "array", elements: { type: "string" } } },
  { name: "headers", field: { type: "map", values: { type: "string" } } },
  {
    name: "config",
    field: {
      type: "record",
      fields: [
        { minute: { type: "integer" } },
        {
          redis: {
            type: "record",
            fields: [{ host: { type: "string" } }, { password: { type: "string", encrypted: true } }],
          },
        },
      ],
    },
  },
];
const before = {
  name: "a",
  paths: ["/a"],
  headers: { x: "1", y: "2" },
  config: { minute: 5, redis: { host: "h", password: "secret" } },
};

const table: readonly (readonly [what: string, after: object, sent: object])[] = [
  ["nothing when nothing has changed", before, {}],
  ["a changed member only", { ...before, name: "b" }, { name: "b" }],
  ["null for a member that was emptied", { ...before, name: null }, { name: null }],
  ["a list as a whole", { ...before, paths: ["/a", "/b"] }, { paths: ["/a", "/b"] }],
  [
    "a map as a whole, because a missing name means removal",
    { ...before, headers: { x: "1" } },
    { headers: { x: "1" } },
  ],
  [
    "the changed members of a nested record, without the stored secret",
    { ...before, config: { ...before.config, redis: { host: "i", password: "secret" } } },
    { config: { redis: { host: "i" } } },
  ],
  ["null for a record that was unset", { ...before, config: { minute: 5, redis: null } }, { config: { redis: null } }],
  ["nothing when only the order of names differs", { ...before, headers: { y: "2", x: "1" } }, {}],
];
for (const [what, after, sent] of table)
  test(`a form sends ${what}`, () => assert.deepEqual(changedMembers(fields, before, after as typeof before), sent));

test("the errors of list items are shown with the position of the item, counted from 1", () => {
  assert.deepEqual(errorTexts({ 2: "bad" }), ["item 2: bad"]);
  assert.deepEqual(errorTexts(["should start with: /"]), ["should start with: /"]);
});

test("errors that belong to no field are shown above the form", () => {
  assert.deepEqual(otherErrors({ name: "x", "@entity": ["must set one"], other: "unknown field" }, fields), [
    "must set one",
    "other: unknown field",
  ]);
});
