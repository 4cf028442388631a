import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildSchema, graphql } from "graphql";
import type { Consumer } from "./caller.ts";
import {
  accessModes,
  applyAccessPolicy,
  type FieldAccess,
  parseFieldAccess,
  requireAccess,
  unknownFields,
} from "./policy.ts";

const consumer = (...tags: string[]): Consumer => ({ id: "1", username: "demo", tags });

describe("a demand's text", () => {
  const cases: readonly (readonly [string, FieldAccess | null])[] = [
    ["anonymous", { kind: "anonymous" }],
    ["authenticated", { kind: "authenticated" }],
    ["scope:writer", { kind: "scope", tags: ["writer"] }],
    ["scope:writer|team:a.b-c", { kind: "scope", tags: ["writer", "team:a.b-c"] }],
    ["scope:", null],
    ["scope:a||b", null],
    ["scope:a b", null],
    ["Authenticated", null],
    ["", null],
  ];
  for (const [text, demand] of cases) {
    it(`${JSON.stringify(text)} ${demand === null ? "is invalid" : `has the kind ${demand.kind}`}`, () =>
      assert.deepEqual(parseFieldAccess(text), demand));
  }
});

describe("a demand", () => {
  const scope: FieldAccess = { kind: "scope", tags: ["writer", "admin"] };
  const cases: readonly (readonly [FieldAccess, Consumer | null, string | null])[] = [
    [{ kind: "anonymous" }, null, null],
    [{ kind: "authenticated" }, null, "UNAUTHENTICATED"],
    [{ kind: "authenticated" }, consumer(), null],
    [scope, null, "UNAUTHENTICATED"],
    [scope, consumer("reader"), "FORBIDDEN"],
    [scope, consumer("reader", "admin"), null],
  ];
  for (const [demand, who, code] of cases) {
    const caller = who === null ? "a caller without a consumer" : `a consumer with the tags [${who.tags.join(", ")}]`;
    it(`of the kind ${demand.kind} gives ${caller} ${code ?? "the field"}`, () => {
      const ask = () => requireAccess(demand, who, "Query.a");
      if (code === null) ask();
      else assert.throws(ask, (error: { extensions?: { code?: unknown } }) => error.extensions?.code === code);
    });
  }
});

describe("the policy of a schema", () => {
  const make = () => buildSchema("type Query { a: A } type A { b: String c: String } type Mutation { m: Int }");
  const root = { a: { b: "b", c: "c" }, m: 1 };

  const expected: Readonly<Record<(typeof accessModes)[number], readonly [query: boolean, mutation: boolean]>> = {
    open: [true, true],
    "anonymous-read": [true, false],
    authenticated: [false, false],
  };
  const described = {
    open: "read and write",
    "anonymous-read": "read but not write",
    authenticated: "neither read nor write",
  } as const;
  for (const access of accessModes) {
    it(`lets a caller without a consumer ${described[access]} if the access is ${access}`, async () => {
      const schema = make();
      applyAccessPolicy(schema, { access, rules: {} });
      const may = async (source: string, who: Consumer | null) =>
        (await graphql({ schema, source, rootValue: root, contextValue: { consumer: who } })).errors === undefined;
      assert.deepEqual([await may("{ a { b } }", null), await may("mutation { m }", null)], expected[access]);
      assert.deepEqual([await may("{ a { b } }", consumer()), await may("mutation { m }", consumer())], [true, true]);
    });
  }

  it("has rules for single fields, also below the root, on any path to them", async () => {
    const schema = make();
    applyAccessPolicy(schema, {
      access: "authenticated",
      rules: { "Query.a": { kind: "anonymous" }, "A.b": { kind: "scope", tags: ["x"] } },
    });
    const { data, errors } = await graphql({
      schema,
      source: "{ a { c ...F } } fragment F on A { alias: b ... { b } }",
      rootValue: root,
      contextValue: { consumer: consumer("y") },
    });
    assert.equal(JSON.stringify(data), '{"a":{"c":"c","alias":null,"b":null}}');
    assert.deepEqual(
      errors?.map(({ extensions }) => extensions.code),
      ["FORBIDDEN", "FORBIDDEN"],
    );
  });

  it("reports rules for fields that do not exist", () => {
    const demand: FieldAccess = { kind: "anonymous" };
    const rules = Object.fromEntries(
      ["A.b", "A.x", "X.b", "A", "A.b.c", "String.length", "A.constructor"].map((field) => [field, demand]),
    );
    assert.deepEqual(unknownFields({ access: "open", rules }, make()), [
      "A.x",
      "X.b",
      "A",
      "A.b.c",
      "String.length",
      "A.constructor",
    ]);
  });
});
