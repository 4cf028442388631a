import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildSchema,
  execute,
  type GraphQLObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { makeRecurringExecutor } from "./recurring-queries.ts";

const schema = buildSchema(`
  type Query { me: User  users(first: Int = 2, of: Team): [User]  names: [String!]!  slow: String  odd: Odd  either: Either  sum(of: [Int!]!): Int }
  type User { id: ID!  secret: String  name: String!  team: Team  friends: [User]  friend(name: String!): User  age: Int  nick: String }
  type Odd { thrown: String  rejected: String  error: User  missing: String!  number: Int  promises: [User]  computed: String  items: [Int!]  informed: String }
  enum Team { RED BLUE }
  union Either = User | Odd
  type Mutation { rename(name: String!): User }
`);

const ann = { id: 7, name: "Ann", team: "RED", age: 30, nick: null };
const bob = { id: "b", name: "Bob", team: "BLUE" };
const calls: string[] = [];
/** The resolvers that ran, as Type.field. */
const ran: string[] = [];
const later = <Value>(value: Value): Promise<Value> => new Promise((resolve) => setImmediate(resolve, value));

const resolvers: Record<
  string,
  Record<string, (source: never, given: never, context: never, info: { readonly fieldName: string }) => unknown>
> = {
  Query: {
    me: () => later(ann),
    users: (_root, { first, of }: { first: number; of?: string }) =>
      [ann, null, bob].filter((user) => of === undefined || user?.team === of).slice(0, first),
    names: () => ["a", "b"],
    slow: () => new Promise((resolve) => setTimeout(resolve, 20, "slow")),
    odd: () => ({ number: "no number", computed: () => "value", items: [1, null] }),
    either: () => ({ __typename: "User", ...bob }),
    sum: (_root, { of }: { of: number[] }) => of.reduce((a, b) => a + b, 0),
  },
  User: {
    friends: (user) => later([bob, user]),
    secret: () => Promise.reject(new Error("rejected")),
    friend: async (_user, { name }: { name: string }) => ({ ...bob, name }),
  },
  Odd: {
    thrown() {
      throw new Error("thrown");
    },
    rejected: () => Promise.reject(new Error("rejected")),
    error: () => new Error("given"),
    informed: (_odd, _given, _context, info) => info.fieldName,
    promises: () => [later(ann), Promise.resolve(bob)],
  },
  Mutation: {
    rename(_root, { name }: { name: string }) {
      calls.push(name);
      return { ...ann, name };
    },
  },
};
for (const [type, fields] of Object.entries(resolvers)) {
  const known = (schema.getType(type) as GraphQLObjectType).getFields();
  for (const [name, resolve] of Object.entries(fields)) {
    const counted = (...given: unknown[]) => {
      ran.push(`${type}.${name}`);
      return (resolve as (...given: unknown[]) => unknown)(...given);
    };
    Object.assign(known[name] ?? {}, { resolve: counted });
  }
}

async function both(source: string, variables: Record<string, unknown> = {}) {
  const document = parse(source);
  assert.deepEqual(validate(schema, document, specifiedRules), []);
  const node = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION) as OperationDefinitionNode;
  const quick = makeRecurringExecutor(schema);
  const given = { variables, context: () => ({}) };
  // At the first execution it is unknown whether the query will recur.
  assert.equal(await quick({ document, node }, given), null);
  const before = [...ran];
  const answer = await quick({ document, node }, given);
  const quickly = ran.slice(before.length);
  const expected = await execute({ schema, document, variableValues: variables });
  return { answer, expected, quickly, usually: ran.slice(before.length + quickly.length) };
}

describe("a query that is executed by a plan", () => {
  const queries: readonly (readonly [string, Record<string, unknown>?])[] = [
    ["{ me { id name team age nick } }"],
    ["{ users { name } }"],
    ["{ users(first: 3) { name id } names }"],
    ["query ($n: Int, $t: Team) { users(first: $n, of: $t) { name } }", { n: 1, t: "BLUE" }],
    ["query ($n: Int = 1) { users(first: $n) { name } }", {}],
    ["query ($n: Int) { users(first: $n) { name } }", {}],
    ["{ sum(of: 5) }"],
    ["query ($a: Int!) { sum(of: [1, $a]) }", { a: 2 }],
    ["{ b: me { x: name } a: me { name } }"],
    ["{ me { friends { name friends { id } } name } names }"],
    ["{ me { ...F friends { ...F } } } fragment F on User { name ... on User { id } ... { team } }"],
    ["{ me { name friends { id } } ...Q } fragment Q on Query { me { friends { name } team } }"],
    ['{ me { a: friend(name: "x") { name } b: friend(name: "y") { name __typename } } __typename }'],
    ["{ me { constructor: name toString: id hasOwnProperty: team } }"],
    ["query A { names }"],
  ];
  for (const [source, variables] of queries) {
    it(`returns the same result as graphql-js, in the same order: ${source}`, async () => {
      const { answer, expected } = await both(source, variables);
      assert.equal(expected.errors, undefined);
      assert.equal(JSON.stringify(answer), JSON.stringify(expected));
    });
  }

  it("is planned quickly even if each of 40 fragments spreads the next one twice", async () => {
    const fragments = Array.from({ length: 40 }, (_, n) => `fragment F${n} on User { ...F${n + 1} ...F${n + 1} }`);
    const { answer } = await both(`{ me { ...F0 } } ${fragments.join(" ")} fragment F40 on User { name }`);
    assert.deepEqual(answer, { data: { me: { name: "Ann" } } });
  });
});

describe("a query that a plan cannot answer", () => {
  const queries: readonly (readonly [string, string])[] = [
    ["a resolver that throws", "{ odd { thrown } }"],
    ["a resolver that rejects", "{ odd { rejected number } me { friends { id } } }"],
    ["a nested resolver that rejects while another field is pending", "{ me { secret } slow }"],
    ["a resolver that returns an error", "{ odd { error { name } } }"],
    ["a null for a non-null field", "{ odd { missing } }"],
    ["a null in a list of non-null items", "{ odd { items } }"],
    ["a value that does not fit its type", "{ odd { number } }"],
    ["a list of promises", "{ odd { promises { name } } }"],
    ["a member that is a method", "{ odd { computed } }"],
    ["a resolver that is called twice for the same object", "{ me { friends { friends { name } } } odd { missing } }"],
  ];
  for (const [name, source] of queries) {
    it(`has ${name}: graphql-js answers it, and no call of a resolver is repeated`, async () => {
      const { answer, expected, quickly, usually } = await both(source);
      assert.equal(JSON.stringify(answer), JSON.stringify(expected));
      assert.deepEqual(quickly.toSorted(), usually.toSorted());
    });
  }

  it("has a resolver that uses information about the query: only that resolver runs again", async () => {
    const { answer, expected, quickly } = await both("{ me { id } odd { informed } }");
    assert.equal(JSON.stringify(answer), JSON.stringify(expected));
    assert.deepEqual(quickly, ["Query.me", "Query.odd", "Odd.informed", "Odd.informed"]);
  });
});

describe("no plan is used for", () => {
  const operations: readonly (readonly [string, string, Record<string, unknown>?])[] = [
    ["a union", "{ either { ... on User { name } } }"],
    ["a directive", "query ($a: Boolean!) { names @skip(if: $a) me { name } }", { a: true }],
    ["a directive on a fragment", "{ me { ... @include(if: true) { name } } }"],
    ["introspection", "{ __schema { queryType { name } } }"],
    ["the response key __proto__", "{ me { __proto__: name } }"],
    ["a variable that does not fit its type", "query ($n: Int) { users(first: $n) { name } }", { n: "x" }],
    ["a missing variable", "query ($a: Int!) { sum(of: [$a]) }"],
  ];
  for (const [name, source, variables] of operations) {
    it(`an operation with ${name}`, async () => {
      const { answer, quickly } = await both(source, variables);
      assert.deepEqual([answer, quickly], [null, []]);
    });
  }

  it("a mutation", async () => {
    await both('mutation { rename(name: "x") { name } }');
    assert.deepEqual(calls, ["x"], "by graphql-js alone");
  });

  it("an operation that does not fit the schema", async () => {
    const document = parse("{ unknown }");
    const [node] = document.definitions as [OperationDefinitionNode];
    const quick = makeRecurringExecutor(schema);
    const given = { variables: {}, context: () => ({}) };
    assert.deepEqual([await quick({ document, node }, given), await quick({ document, node }, given)], [null, null]);
  });
});
