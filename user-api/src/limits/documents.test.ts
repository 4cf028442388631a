import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildSchema, getIntrospectionQuery } from "graphql";
import { schema as text } from "../directory/schema.ts";
import { type GraphqlRequest, makeDocumentCheck } from "./documents.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { readTrustedDocuments } from "./trusted.ts";

const schema = buildSchema(text);
const checkBy = (limits: Partial<Limits> = {}, introspection = true) =>
  makeDocumentCheck({ schema, limits: { ...defaultLimits, ...limits }, introspection });

const USERS = "{ users { name } }";
const PAGED = "query($n: Int) { users(first: $n) { name } }";

describe("the check of documents", () => {
  const cases: readonly (readonly [
    keyof Limits,
    number,
    within: GraphqlRequest,
    limitExceeded: GraphqlRequest,
    RegExp,
  ])[] = [
    ["tokens", 7, { query: "{ users { name id } }" }, { query: "{ users { name id email } }" }, /too many tokens/],
    ["depth", 2, { query: USERS }, { query: "{ users { posts { title } } }" }, /nests fields 3 levels deep/],
    ["aliases", 1, { query: "{ a: users { id } }" }, { query: "{ a: users { b: id } }" }, /has 2 aliases/],
    [
      "aliases",
      1,
      { query: "{ __schema { a: types { name } } }" },
      { query: '{ a: __type(name: "User") { b: name fields { ...F } } } fragment F on __Field { c: name }' },
      /has 3 aliases/,
    ],
    [
      "rootFields",
      2,
      { query: "{ a: users { id } b: users { id } }" },
      { query: "{ ...F ...F ...F } fragment F on Query { __typename }" },
      /has 3 root fields/,
    ],
    ["cost", 2_000, { query: USERS }, { query: "{ users { name id } }" }, /could request 3000 field values/],
    [
      "cost",
      20,
      { query: PAGED, variables: { n: 10 } },
      { query: PAGED, variables: { n: 11 } },
      /could request 22 field values/,
    ],
    [
      "variablesDepth",
      2,
      { query: USERS, variables: { a: [1] } },
      { query: USERS, variables: { a: [[1]] } },
      /variables are nested too deeply/,
    ],
  ];
  for (const [limit, maximum, within, limitExceeded, message] of cases) {
    it(`accepts documents within the limit ${limit}=${maximum}, and names the limit in the error for documents beyond it`, () => {
      const check = checkBy({ [limit]: maximum });
      // The accepted document is cached the first time.
      for (let n = 0; n < 2; n++) {
        assert.ok("node" in check(within), JSON.stringify(check(within)));
        const refused = check(limitExceeded);
        assert.ok("errors" in refused);
        const [error] = refused.errors;
        assert.match(error?.message ?? "", message);
        assert.match(error?.message ?? "", new RegExp(`; the limit is ${maximum}$`));
        assert.deepEqual(error?.extensions, { code: "LIMIT_EXCEEDED", limit, maximum });
      }
    });
  }

  it("accepts by default a query that lists all users with their posts twice", () => {
    const query = "{ a: users { id name email posts { title } } b: users { id name email posts { title } } }";
    assert.ok("node" in checkBy()({ query }));
  });

  it("accepts by default the standard introspection query with every option", () => {
    const query = getIntrospectionQuery({
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      oneOf: true,
    });
    assert.ok("node" in checkBy()({ query }));
  });

  it("refuses circular introspection", () => {
    const query =
      "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }";
    const refused = checkBy()({ query });
    assert.ok("errors" in refused);
    assert.match(refused.errors[0]?.message ?? "", /introspection depth/i);
  });

  it("refuses a document that has a subscription with a conditional root field, even if another operation is requested, and caches the error", () => {
    const query = "query A { __typename } subscription B($a: Boolean!) { userCreated @include(if: $a) { id } }";
    const check = checkBy();
    const [first, second] = [check({ query, operationName: "A" }), check({ query, operationName: "A" })];
    assert.ok("errors" in first && "errors" in second);
    assert.match(first.errors[0]?.message ?? "", /@skip or @include/);
    assert.equal(first.errors[0], second.errors[0]);
  });

  it("refuses a document of 4,999 nested levels without a stack overflow", () => {
    const check = checkBy({ tokens: 10_000, depth: 100 });
    const refused = check({ query: "{a".repeat(4_999) + "}".repeat(2) });
    assert.ok("errors" in refused);
  });
});

describe("the selected operation", () => {
  const TWO = "query A { users { id } } query B($n: Int) { users(first: $n) { name } }";
  const cases = [
    [{ query: USERS }, undefined],
    [{ query: USERS, operationName: null }, undefined],
    [{ query: TWO, operationName: "B" }, "B"],
  ] as const;
  for (const [ask, name] of cases) {
    it(`is ${name ?? "the only one"} for ${JSON.stringify(ask)}`, () => {
      const operation = checkBy()(ask);
      assert.ok("node" in operation);
      assert.equal(operation.node.name?.value, name);
    });
  }

  for (const operationName of [undefined, null, "", "C", "__proto__", "constructor"]) {
    it(`does not exist for two operations and the name ${JSON.stringify(operationName)}: the document is refused`, () => {
      const refused = checkBy()({ query: TWO, operationName });
      assert.ok("errors" in refused);
      assert.equal(refused.errors[0]?.extensions.code, "GRAPHQL_VALIDATION_FAILED");
    });
  }

  it("lists the requested fields, each once, by their names in the schema", () => {
    const operation = checkBy()({
      query: `{ a: users { ...F } b: users { ...F } __typename __schema { types { ... on __Type { name } ...G } } }
        fragment F on User { name posts { title } } fragment G on __Type { kind }`,
    });
    assert.ok("node" in operation);
    assert.deepEqual(operation.fields, ["User.name", "Post.title", "User.posts", "Query.users"]);
  });

  it("does not exist in type definitions, a fragment alone, or an empty or absent document: all are refused", () => {
    for (const query of ["type A { a: Int }", "fragment F on User { id }", "", undefined]) {
      assert.ok("errors" in checkBy()({ query }), `${query}`);
    }
  });
});

describe("a document that does not fit the schema", () => {
  it("is refused with every error, every time", () => {
    const check = checkBy();
    const ask = { query: "{ users { one two } }" };
    for (let n = 0; n < 2; n++) {
      const refused = check(ask);
      assert.ok("errors" in refused);
      assert.equal(refused.errors.length, 2);
    }
  });

  it("is refused without revealing the schema when introspection is off", () => {
    const refused = checkBy({}, false)({ query: "{ usres { id } }" });
    assert.ok("errors" in refused);
    assert.equal(refused.errors[0]?.message, 'Cannot query field "usres" on type "Query".');
  });
});

describe("a manifest of trusted documents", () => {
  const expected = new Map([["a", USERS]]);
  const good = [
    ["a map", { a: USERS }],
    [
      "a list in Apollo's form",
      { format: "apollo-persisted-query-manifest", version: 1, operations: [{ id: "a", body: USERS }] },
    ],
  ] as const;
  for (const [name, manifest] of good) {
    it(`may be ${name}`, () => {
      const read = readTrustedDocuments(JSON.stringify(manifest));
      assert.ok(typeof read !== "string");
      assert.deepEqual(read.byId, expected);
      assert.deepEqual(read.texts, new Set([USERS]));
    });
  }
  for (const wrong of [
    "",
    "[]",
    '"x"',
    '{"a":1}',
    '{"operations":[{"id":"a"}]}',
    '{"operations":["x"]}',
    '{"":"{a}"}',
  ]) {
    it(`is refused: ${wrong || "an empty file"}`, () => assert.equal(typeof readTrustedDocuments(wrong), "string"));
  }
});
