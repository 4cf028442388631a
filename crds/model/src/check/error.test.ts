import assert from "node:assert/strict";
import { test } from "node:test";
import type { Violation } from "@sluice/plugin-sdk";
import { schemaViolation } from "./error.ts";

const cases: readonly (readonly [name: string, violations: readonly Violation[], message: string, fields: unknown])[] =
  [
    [
      "a single error without a count",
      [{ path: ["host"], message: "required field missing" }],
      "schema violation (host: required field missing)",
      { host: "required field missing" },
    ],
    [
      "several errors sorted by member",
      [
        { path: ["path"], message: "should start with: /" },
        { path: ["host"], message: "required field missing" },
      ],
      "2 schema violations (host: required field missing; path: should start with: /)",
      { host: "required field missing", path: "should start with: /" },
    ],
    [
      "errors of the entity first and without a path",
      [
        { path: ["path"], message: "value must be null" },
        { path: ["@entity"], message: "failed conditional validation given value of field 'protocol'" },
      ],
      "2 schema violations (failed conditional validation given value of field 'protocol'; path: value must be null)",
      {
        "@entity": ["failed conditional validation given value of field 'protocol'"],
        path: "value must be null",
      },
    ],
    [
      "errors of nested members",
      [
        { path: ["config", "minute"], message: "expected a number" },
        { path: ["config", "redis", "host"], message: "required field missing" },
      ],
      "2 schema violations (config.minute: expected a number; config.redis.host: required field missing)",
      { config: { minute: "expected a number", redis: { host: "required field missing" } } },
    ],
    [
      "list positions, counted from 1 in the message, and null for each valid item in the fields",
      [
        { path: ["protocols", 2], message: "expected a string" },
        { path: ["protocols", 0], message: "expected one of: a" },
      ],
      "2 schema violations (protocols.1: expected one of: a; protocols.3: expected a string)",
      { protocols: ["expected one of: a", null, "expected a string"] },
    ],
    [
      "a config's message as a string if no member of the config has a message",
      [{ path: ["config"], message: "The limit" }],
      "schema violation (config: The limit)",
      { config: "The limit" },
    ],
    [
      "a config's message under @entity if a member of the config has a message too",
      [
        { path: ["config"], message: "The limit" },
        { path: ["config", "x"], message: "unknown field" },
      ],
      "2 schema violations (config: The limit; config.x: unknown field)",
      { config: { "@entity": ["The limit"], x: "unknown field" } },
    ],
    [
      "an error of a record in a list",
      [{ path: ["sources", 1, "@entity"], message: "at least one" }],
      "schema violation (sources.2: at least one)",
      { sources: [null, { "@entity": ["at least one"] }] },
    ],
  ];

for (const [name, violations, message, fields] of cases) {
  test(`schemaViolation writes ${name}`, () => {
    assert.deepEqual(schemaViolation(violations), { code: 2, name: "schema violation", message, fields });
  });
}

test("schemaViolation writes a member called __proto__ like any other member", () => {
  const { fields } = schemaViolation([{ path: ["__proto__", "x"], message: "unknown field" }]);
  assert.equal(JSON.stringify(fields), '{"__proto__":{"x":"unknown field"}}');
});
