/** Purges of the results that contain one object, by its id. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { type Ask, startResultCache, startRoute } from "./testing-cached-route.ts";

const byId = (id = "id") => ({
  purge: [
    { mutation: "updateUser", types: ["User"], id },
    { mutation: "addPost", types: ["Post"] },
  ],
});

const update = (id: unknown): Ask => ({
  body: { query: "mutation U($id: ID) { updateUser(id: $id) { id } }", variables: { id } },
});
const mutation = (query: string, variables: object = {}): Ask => ({ body: { query, variables } });
const result = (data: object): string => JSON.stringify({ data });
const users = (...ids: readonly unknown[]) => ({ users: ids.map((id) => ({ id })) });

/** The query, its result, and the ids of users of which a mutation purges the result, and does not purge it. */
type Row = readonly [
  what: string,
  query: string,
  data: object,
  purging: readonly unknown[],
  others: readonly unknown[],
];

const many = Array.from({ length: 101 }, (_, at) => `u${at}`);

const rows: readonly Row[] = [
  ["one object", "{ user { id name } }", { user: { id: "7", name: "a" } }, ["7", 7], ["8"]],
  ["a list", "{ users { id } }", users("1", "2"), ["1", "2"], ["3"]],
  ["ids that are numbers", "{ users { id } }", users(1, 2), ["1", 2], ["3"]],
  ["an alias of the id", "{ users { key: id } }", { users: [{ key: "1" }] }, ["1"], ["2"]],
  [
    "an alias of the object",
    "{ a: user { id } b: user { id } }",
    { a: { id: "1" }, b: { id: "2" } },
    ["1", "2"],
    ["3"],
  ],
  ["fragments", "{ users { ...U } } fragment U on User { ... on User { id } }", users("1"), ["1"], ["2"]],
  [
    "selections that are merged",
    "{ users { id } users { posts { id } } }",
    { users: [{ id: "1", posts: [] }] },
    ["1"],
    ["2"],
  ],
  ["no object", "{ user { id } }", { user: null }, [], ["1"]],
  ["an empty list", "{ users { id } }", users(), [], ["1"]],
  // All users of such a result count as changed.
  ["an object without an id in the query", "{ users { name } }", { users: [{ name: "a" }] }, ["1", "2"], []],
  ["an object whose id is left out", "{ users { id @skip(if: true) } }", { users: [{}] }, ["1"], []],
  ["an id that is a number with too many digits", "{ users { id } }", users(2 ** 60), [`${2n ** 60n}`, "1"], []],
  ["an id that is null", "{ users { id } }", users(null), ["1"], []],
  ["one object with and one without an id", "{ users { id } user { name } }", { ...users("1"), user: {} }, ["2"], []],
  ["an interface", "{ node { id } }", { node: { id: "1" } }, ["2"], []],
  ["a field that the schema does not have", "{ others { id } }", { others: [{ id: "1" }] }, ["2"], []],
  ["101 objects", "{ users { id } }", users(...many), ["u0", "u100", "other"], []],
  ["100 objects", "{ users { id } }", users(...many.slice(1)), ["u1", "u100"], ["other"]],
];

const isPurged = async (query: string, data: object, by: Ask, graphql: object): Promise<boolean> => {
  const ask = startRoute({ graphql });
  const asked = { body: { query }, response: result(data) };
  await ask(asked);
  assert.equal(await ask(asked), "Hit");
  assert.equal(await ask(by), "Bypass");
  return (await ask(asked)) !== "Hit";
};

/** Mutations, and whether they purge the result with user 1, and that with user 2. */
const mutations: readonly (readonly [what: string, asked: Ask, one: boolean, two: boolean, path?: string])[] = [
  ["an id in the document", mutation('mutation { updateUser(id: "1") { id } }'), true, false],
  ["a number in the document", mutation("mutation { updateUser(id: 1) { id } }"), true, false],
  ["a variable", update("1"), true, false],
  ["the default of a variable", mutation('mutation ($id: ID = "1") { updateUser(id: $id) { id } }'), true, false],
  [
    "a member of an input object",
    mutation('mutation { updateUser(input: { id: "1" }) { id } }'),
    true,
    false,
    "input.id",
  ],
  [
    "a variable in an input object",
    mutation("mutation ($i: ID) { updateUser(input: { id: $i }) { id } }", { i: "1" }),
    true,
    false,
    "input.id",
  ],
  [
    "an input object in a variable",
    mutation("mutation ($i: UserInput) { updateUser(input: $i) { id } }", { i: { id: "1" } }),
    true,
    false,
    "input.id",
  ],
  ["two objects", mutation('mutation { a: updateUser(id: "1") { id } b: updateUser(id: "2") { id } }'), true, true],
  ["no id", mutation("mutation { updateUser { id } }"), true, true],
  ["a variable that is absent", mutation("mutation ($id: ID) { updateUser(id: $id) { id } }"), true, true],
  ["an id that is null", update(null), true, true],
  ["an id that is a list", update(["1"]), true, true],
  ["another mutation", mutation("mutation { addPost { id } }"), false, false],
];

describe("purges of cached results of GraphQL by id", () => {
  for (const [what, query, data, purging, others] of rows) {
    it(`reach a result with ${what} if it depends on the object`, async () => {
      for (const id of purging) assert.equal(await isPurged(query, data, update(id), byId()), true, `${id}`);
      for (const id of others) assert.equal(await isPurged(query, data, update(id), byId()), false, `${id}`);
    });
  }

  for (const [what, asked, one, two, path] of mutations) {
    it(`follow a mutation with ${what}`, async () => {
      for (const [id, expected] of [
        ["1", one],
        ["2", two],
      ] as const)
        assert.equal(await isPurged("{ users { id } }", users(id), asked, byId(path)), expected, id);
    });
  }

  it("reach a result that is on its way while the mutation is executed", async () => {
    const ask = startRoute({ graphql: byId() });
    const asked = { body: { query: "{ users { id } }" }, response: result(users("1")) };
    await ask(asked, { before: () => ask(update("1")) });
    assert.deepEqual([await ask(asked), await ask(asked)], ["Refresh", "Hit"]);
  });

  it("reach the results of an instance whose rules have no ids, and its purges the results of others", async () => {
    const cacheInstance = startResultCache();
    const withIds = startRoute({ graphql: byId(), cacheInstance });
    const withoutIds = startRoute({ graphql: { purge: [{ mutation: "updateUser", types: ["User"] }] }, cacheInstance });
    const asked = { body: { query: "{ users { id } }" }, response: result(users("1")) };
    await withoutIds(asked);
    await withIds(update("2"));
    assert.equal(await withoutIds(asked), "Refresh");
    await withIds(asked);
    await withoutIds(update("2"));
    assert.notEqual(await withIds(asked), "Hit");
  });

  it("keep the variants of a result apart", async () => {
    const ask = startRoute({ graphql: byId() });
    const inLanguage = (language: string): Ask => ({
      body: { query: "{ users { id } }" },
      headers: { "accept-language": language },
      response: result(users("1")),
      responseHeaders: { vary: "Accept-Language" },
    });
    const statuses: unknown[] = [];
    for (const language of ["de", "de", "en", "en", "de"]) statuses.push(await ask(inLanguage(language)));
    assert.deepEqual(statuses, ["Miss", "Hit", "Miss", "Hit", "Hit"]);
  });

  it("need a path of names", () => {
    assert.deepEqual(configViolations("graphql", { purge: [{ mutation: "a", types: ["A"], id: "input..id" }] }), [
      "purge.0.id: must be names of GraphQL, separated by dots, such as input.id",
    ]);
  });
});
