import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Draft } from "./keywords.ts";
import { compileJsonSchema } from "./validator.ts";

function errorOf(schema: unknown, value: unknown, draft: Draft = "draft202012"): string | null {
  const compiled = compileJsonSchema(JSON.stringify(schema), draft);
  assert.deepEqual(compiled.violations, undefined);
  const error = compiled.value?.errorOf(value) ?? null;
  return error === null ? null : `${error.pointer}: ${error.message}`;
}

const faultsOf = (schema: unknown, draft: Draft = "draft202012") =>
  compileJsonSchema(typeof schema === "string" ? schema : JSON.stringify(schema), draft).violations?.map(
    ({ message }) => message,
  );

/** Nested lists, of which the innermost contains `length` numbers. */
function nested(levels: number, length: number): unknown {
  let value: unknown = Array.from({ length }, (_item, index) => index);
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

// As text, because linters treat an object with `then` as a promise.
const conditional = (schema: string): unknown => JSON.parse(schema);

/** In each row a schema, a value that conforms to it, and a value that does not. */
const pairs: readonly (readonly [what: string, schema: unknown, valid: unknown, invalid: unknown, draft?: Draft])[] = [
  ["type", { type: ["integer", "null"] }, 1, 1.5],
  ["enum with objects", { enum: [{ a: 1 }] }, { a: 1 }, { a: 2 }],
  ["const", { const: [1] }, [1], [2]],
  ["exclusiveMinimum of draft 4", { minimum: 1, exclusiveMinimum: true }, 2, 1, "draft4"],
  ["exclusiveMinimum", { exclusiveMinimum: 1 }, 2, 1],
  ["multipleOf with a fraction", { multipleOf: 0.01 }, 4.35, 4.351],
  ["maxLength in code points", { maxLength: 1 }, "\u{1f600}", "ab"],
  ["format", { format: "ipv4" }, "192.0.2.1", "192.0.2.256"],
  ["the format of a URL", { format: "url" }, "https://a.example/b?c=d#e", "https:a.example"],
  ["the scheme of a URL", { format: "url" }, "ftp://a.example", "file:///a"],
  ["pattern", { pattern: "^a+$" }, "aa", "ab"],
  ["required", { required: ["__proto__"] }, JSON.parse('{"__proto__":1}'), {}],
  ["properties", { properties: { a: { type: "string" } } }, { a: "" }, { a: 1 }],
  [
    "additionalProperties beside patterns",
    { patternProperties: { "^x-": true }, additionalProperties: false },
    { "x-a": 1 },
    { y: 1 },
  ],
  ["propertyNames", { propertyNames: { maxLength: 1 } }, { a: 1 }, { ab: 1 }],
  ["dependencies of draft 7", { dependencies: { a: ["b"] } }, { a: 1, b: 1 }, { a: 1 }, "draft7"],
  ["dependentRequired", { dependentRequired: { a: ["b"] } }, { b: 1 }, { a: 1 }],
  ["dependentSchemas", { dependentSchemas: { a: { maxProperties: 1 } } }, { b: 1, c: 1 }, { a: 1, b: 1 }],
  ["prefixItems and items", { prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], ["a", "b"]],
  ["additionalItems of draft 4", { items: [{}], additionalItems: false }, [1], [1, 2], "draft4"],
  ["contains with limits", { contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1]],
  [
    "uniqueItems, whatever the order of members",
    { uniqueItems: true },
    [[], {}, "[", 1],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ],
  ["allOf", { allOf: [{ minimum: 1 }, { maximum: 2 }] }, 2, 3],
  ["anyOf", { anyOf: [{ const: 1 }, { const: 2 }] }, 2, 3],
  ["oneOf", { oneOf: [{ minimum: 1 }, { minimum: 5 }] }, 2, 6],
  ["not", { not: { type: "string" } }, 1, "a"],
  ["if, then and else", conditional('{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}'), "a", 0],
  ["a reference to itself", { properties: { next: { $ref: "#" } }, required: ["v"] }, { v: 1 }, { v: 1, next: {} }],
  ["an anchor", { $ref: "#a", $defs: { any: { $anchor: "a", type: "string" } } }, "x", 1],
  ["keywords beside a reference", { $ref: "#/$defs/a", maxLength: 1, $defs: { a: {} } }, "a", "ab"],
  [
    "unevaluatedProperties beside allOf",
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    { a: 1 },
    { b: 1 },
  ],
  ["unevaluatedItems beside contains", { contains: { const: 1 }, unevaluatedItems: false }, [1], [1, 2]],
];

describe("a JSON Schema", () => {
  for (const [what, schema, valid, invalid, draft] of pairs) {
    it(`tests ${what}`, () => {
      assert.equal(errorOf(schema, valid, draft), null);
      assert.notEqual(errorOf(schema, invalid, draft), null);
    });
  }

  it("ignores keywords beside a reference in draft 7", () => {
    assert.equal(errorOf({ $ref: "#/definitions/a", maxLength: 1, definitions: { a: {} } }, "ab", "draft7"), null);
  });

  it("ignores keywords of newer drafts", () => {
    assert.equal(errorOf(conditional('{"const":1,"if":true,"then":false}'), 2, "draft4"), null);
  });

  it("reports the first error with its place", () => {
    const schema = { properties: { "a/b": { items: { pattern: "^x" } } } };
    assert.equal(errorOf(schema, { "a/b": ["x", "y"] }), '/a~1b/1: does not match the pattern "^x"');
  });

  for (const [what, schema, value] of [
    ["a pattern that backtracks", { pattern: "^(a+)+$" }, `${"a".repeat(100_000)}!`],
    ["a pattern for names", { patternProperties: { "^(a+)+$": false } }, { [`${"a".repeat(100_000)}!`]: 1 }],
    ["many unique items", { uniqueItems: true }, Array.from({ length: 200_000 }, (_item, index) => index)],
    ["unique items inside each other", { uniqueItems: true, items: { $ref: "#" } }, nested(100, 150_000)],
    ["a long host in a URL", { format: "url" }, `http://${"a".repeat(2000)}`],
  ] as const) {
    it(`needs linear time for ${what}`, () => {
      const started = performance.now();
      errorOf(schema, value);
      assert.ok(performance.now() - started < 2000);
    });
  }

  it("refuses a value whose validation needs too many steps", () => {
    const twice = { allOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }] };
    let value: unknown = 1;
    for (let level = 0; level < 24; level++) value = [value];
    assert.equal(errorOf(twice, value), ": needs too many steps");
  });

  it("refuses a value that is nested too deeply", () => {
    assert.equal(
      errorOf({ items: { $ref: "#" } }, JSON.parse("[".repeat(5000) + "]".repeat(5000))),
      ": is nested too deeply",
    );
    assert.equal(errorOf({ $ref: "#" }, 1), ": is nested too deeply");
  });

  for (const [schema, faults] of [
    ["{", [/^is not JSON: /]],
    [[], [/^is not a valid JSON Schema: the schema must be an object or a boolean$/]],
    [
      { properties: { a: { type: "text", minLength: -1 } }, required: true },
      [/\/properties\/a\/type must be one/, /\/minLength must be a non-neg/, /\/required must be a list of strings$/],
    ],
    [{ items: 1 }, [/\/items must contain schemas$/]],
    [{ pattern: "(?=a)" }, [/\/pattern is an invalid regular expression: /]],
    [
      { $ref: "https://example.com/schema" },
      [/^the reference https:\/\/example.com\/schema does not lead to a schema of the same document$/],
    ],
    [{ items: { $dynamicRef: "#a" } }, [/\/items\/\$dynamicRef is not supported$/]],
    [`${'{"not":'.repeat(100)}{}${"}".repeat(100)}`, [/is nested in more than 64 other schemas$/]],
  ] as const) {
    it(`is refused if it is ${JSON.stringify(schema).slice(0, 60)}`, () => {
      const found = faultsOf(schema) ?? [];
      assert.equal(found.length, faults.length);
      for (const [index, fault] of faults.entries()) assert.match(found[index] ?? "", fault);
    });
  }
});
