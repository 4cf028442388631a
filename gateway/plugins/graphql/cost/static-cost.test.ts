/** The cost of operations, and the limit max_cost. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeContext, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { graphql } from "../index.ts";

const SCHEMA = `
  directive @cost(weight: Int!) on ARGUMENT_DEFINITION | ENUM | FIELD_DEFINITION | OBJECT | SCALAR
  type Query {
    user: User
    name: String
    users(first: Int, last: Int): [User!]!
    recent(first: Int = 5): [User]
    grid: [[User]]
    top(max: Int): [User] @listSize(assumedSize: 3, slicingArguments: ["max"])
    found(filter: Filter): [User] @listSize(slicingArguments: ["filter.max"])
    search(text: String @cost(weight: 4)): User @cost(weight: "7.5")
    report: Report
    roles: [Role]
    connection(first: Int): Connection
    page(size: Int): Page @listSize(slicingArguments: ["size"], sizedFields: ["items"])
    node: Node
    either: Either
  }
  type Mutation { add: User }
  type Connection { edges: [Edge] total: Int }
  type Edge { node: User }
  type Page { items: [User] others: [User] }
  type Report @cost(weight: 100) { id: ID }
  type User implements Node { id: ID name: String friends(first: Int): [User] }
  interface Node { id: ID friends(first: Int): [User] }
  union Either = User | Report
  enum Role { admin }
  input Filter { max: Int }
  extend type User { posts: [Post] }
  type Post { title: String }
`;

const config = { schema: SCHEMA, introspection: true };

async function costOf(query: string, variables: object = {}, members: object = {}): Promise<number> {
  const phases = graphql.phases(
    withConfigDefaults("graphql", { ...config, ...members }),
    fakeContext({ plugin: "graphql" }),
  );
  const exchange = fakeExchange({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  assert.equal(await phases.access?.(exchange), undefined);
  return Number(exchange.shared.get("graphql.cost"));
}

type Row = readonly [what: string, query: string, cost: number, variables?: object];

const rows: readonly Row[] = [
  ["a scalar, at least", "{ name }", 1],
  ["an object", "{ user { name } }", 1],
  ["a mutation", "mutation { add { name } }", 11],
  ["a list without a limit", "{ users { name } }", 10],
  ["a list with an argument", "{ users(first: 3) { name } }", 3],
  ["the larger of two arguments", "{ users(first: 3, last: 7) { name } }", 7],
  ["the default of the schema", "{ recent { name } }", 5],
  ["a list of lists", "{ grid { name } }", 100],
  ["a list in a list", "{ users(first: 3) { friends(first: 4) { name } } }", 15],
  ["assumedSize", "{ top { name } }", 3],
  ["an argument before assumedSize", "{ top(max: 50) { name } }", 50],
  ["a member of an input object", "{ found(filter: { max: 6 }) { name } }", 6],
  ["weights of fields and arguments, rounded up", '{ search(text: "a") { name } }', 12],
  ["the weight of a type", "{ report { id } }", 100],
  ["a list of enums", "{ user { id } roles }", 1],
  ["the edges of a connection", "{ connection(first: 20) { total edges { node { name } } } }", 41],
  ["sizedFields, and other lists", "{ page(size: 2) { items { id } others { id } } }", 13],
  ["an interface", "{ node { friends(first: 4) { id } } }", 5],
  ["a union, with all its types", "{ either { ... on User { posts { title } } ... on Report { id } } }", 11],
  [
    "fragments wherever they are spread",
    "{ a: user { ...F } b: user { ...F } } fragment F on User { friends(first: 2) { id } }",
    6,
  ],
  ["a variable", "query ($n: Int) { users(first: $n) { name } }", 40, { n: 40 }],
  ["a variable that is absent", "query ($n: Int) { users(first: $n) { name } }", 10],
  ["a variable with a default", "query ($n: Int = 8) { users(first: $n) { name } }", 8],
  ["a variable that is null", "query ($n: Int = 8) { users(first: $n) { name } }", 10, { n: null }],
  ["a variable that is not a number", "query ($n: Int) { users(first: $n) { name } }", 10, { n: "all" }],
  [
    "a number in a string, which some services accept",
    "query ($n: Int) { users(first: $n) { name } }",
    40,
    { n: "40" },
  ],
  ["numbers in the document that are no Int", '{ a: users(first: "40") { name } b: users(first: 3e1) { name } }', 70],
  ["the schema's default for a variable that is absent", "query ($n: Int) { recent(first: $n) { name } }", 5],
  ["a negative variable", "query ($n: Int) { users(first: $n) { name } }", 10, { n: -1 }],
  ["a member of a variable", "query ($f: Filter) { found(filter: $f) { name } }", 9, { f: { max: 9 } }],
  ["a variable in an input object", "query ($n: Int) { found(filter: { max: $n }) { name } }", 9, { n: 9 }],
  ["variables in lists of lists", "query ($n: Int) { users(first: $n) { friends(first: $n) { id } } }", 30, { n: 5 }],
  [
    "variables so large that numbers cannot hold the product",
    "query ($n: Int) { users(first: $n) { friends(first: $n) { friends(first: 0) { id } } } }",
    1_000_000_000,
    { n: 1e308 },
  ],
  ["fields that the schema does not have", "{ unknown(first: 100) { a { b } } }", 2],
  ["introspection", "{ __schema { types { name } } }", 2],
];

describe("the cost of GraphQL operations", () => {
  for (const [what, query, cost, variables] of rows) {
    it(`counts ${what}`, async () => assert.equal(await costOf(query, variables), cost));
  }

  it("without a schema, counts fields with subfields", async () => {
    assert.equal(await costOf("{ users(first: 100) { friends { name } } name }", {}, { schema: null }), 2);
  });

  it("has sizes of lists and names of arguments from the config", async () => {
    assert.equal(await costOf("{ users { name } }", {}, { list_size: 25 }), 25);
    assert.equal(await costOf("{ users(last: 3) { name } }", {}, { slicing_arguments: ["first"] }), 10);
  });

  it("of a batch is the sum of the costs of its operations", async () => {
    const phases = graphql.phases(withConfigDefaults("graphql", config), fakeContext({ plugin: "graphql" }));
    const body = JSON.stringify([{ query: "query A { users { id } }" }, { query: "{ report { id } }" }]);
    const exchange = fakeExchange({ method: "POST", headers: { "content-type": "application/json" }, body });
    assert.equal(await phases.access?.(exchange), undefined);
    assert.equal(exchange.shared.get("graphql.cost"), "110");
    assert.equal(exchange.shared.get("graphql.operation"), "A");
  });

  it("above max_cost is refused, with the variables of the request", async () => {
    const phases = graphql.phases(
      withConfigDefaults("graphql", { ...config, max_cost: 50 }),
      fakeContext({ plugin: "graphql" }),
    );
    const send = async (first: number) => {
      const body = JSON.stringify({
        query: "query ($n: Int) { users(first: $n) { name } }",
        variables: { n: first },
      });
      const headers = { "content-type": "application/json" };
      return (await phases.access?.(fakeExchange({ method: "POST", headers, body })))?.body;
    };
    assert.equal(await send(50), undefined);
    assert.match(String(await send(51)), /The operation has a cost of 51; the limit is 50.*"limit":"cost"/);
  });

  for (const [sdl, message] of [
    ["type Query { a: }", 'schema: line 1, column 17: Syntax Error: Expected Name, found "}".'],
    ["type User { a: Int }", "schema: the schema does not define the type Query"],
  ] as const) {
    it(`refuses the schema ${sdl}`, () => {
      assert.deepEqual(configViolations("graphql", { schema: sdl }), [message]);
    });
  }
});
