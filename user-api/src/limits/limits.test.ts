import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildSchema, getIntrospectionQuery, parse, specifiedRules, validate } from "graphql";
import { depthRule, MAX_TOKENS, refuseInvalid, refuseJson } from "./limits.ts";

const schema = buildSchema("type Query { a: A, name: String } type A { a: A, name: String }");
const nested = (depth: number): string => `${"{a".repeat(depth - 1)}{name}${"}".repeat(depth - 1)}`;

describe("the depth limit", () => {
  const depths = [
    ["{ name }", 1],
    ["{ a { name } }", 2],
    [nested(8), 8],
    ["{ a { ... { a { ... on A { name } } } } }", 3],
    ["{ a { ...F } } fragment F on A { a { name } }", 3],
    ["{ a { ...F ...F } } fragment F on A { ...G ...G } fragment G on A { a { name } }", 3],
    ["{ name } query B { a { name } }", 2],
    ["{ a { __typename } }", 1],
  ] as const;
  for (const [source, depth] of depths) {
    it(`measures ${depth} for ${source}`, () => {
      const errors = (limit: number) => validate(schema, parse(source), [depthRule(limit)]);
      assert.deepEqual(errors(depth), []);
      assert.match(errors(depth - 1)[0]?.message ?? "", new RegExp(`${depth} levels deep; the limit is ${depth - 1}$`));
    });
  }

  it("lets the standard introspection query pass, with every option", () => {
    const source = getIntrospectionQuery({
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      oneOf: true,
    });
    assert.deepEqual(validate(schema, parse(source, { maxTokens: MAX_TOKENS }), [...specifiedRules, depthRule(8)]), []);
  });

  it("does not let introspection go round in circles", () => {
    const source =
      "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }";
    assert.match(validate(schema, parse(source), specifiedRules)[0]?.message ?? "", /introspection depth/i);
  });

  it("ends on fragments that spread themselves", () => {
    const source = "{ a { ...F } } fragment F on A { ...G } fragment G on A { a { ...F } }";
    assert.match(
      validate(schema, parse(source), [...specifiedRules, depthRule(8)])[0]?.message ?? "",
      /Cannot spread fragment "F" within itself via "G"/,
    );
  });

  it("measures each fragment once, however often it is spread", () => {
    const fragments = Array.from({ length: 60 }, (_, n) => `fragment F${n} on A { ...F${n + 1} ...F${n + 1} }`);
    const source = `{ a { ...F0 } } ${fragments.join(" ")} fragment F60 on A { name }`;
    assert.deepEqual(validate(schema, parse(source), [depthRule(2)]), []);
  });
});

describe("a text that is JSON", () => {
  for (const source of ["{}", '{"kind":"Document"}', " [1]", '"x"', "1", "null", "true", '\n{ "kind": "Document" }']) {
    it(`is refused as GraphQL: ${JSON.stringify(source)}`, () =>
      assert.throws(() => refuseJson(source), /Syntax Error/));
  }
  for (const source of ["{a}", "{ null: a }", "query { a }", "# {}\n{ a }", "nullable"]) {
    it(`is not ${JSON.stringify(source)}`, () => refuseJson(source));
  }
});

describe("a subscription's document", () => {
  it("is refused with all that is wrong", () => {
    assert.throws(() => refuseInvalid(schema, parse("{ a { one two } }"), []), {
      message: 'Cannot query field "one" on type "A".; Cannot query field "two" on type "A".',
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    });
  });
});
