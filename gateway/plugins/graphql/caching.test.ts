/** Results that the plugin proxy-cache stores and uses behind the plugin graphql. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ThreadCounters } from "../../../test/plugins/fake-exchange.ts";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import {
  type Ask,
  cachedPurgeRules,
  DATA,
  type RouteOptions,
  startResultCache,
  startRoute,
} from "./testing-cached-route.ts";

const USERS = "query Users { users { name } }";
const POSTS = "query Posts { posts { title } }";

const get = (query: string): Ask => ({ method: "GET", query: `?${new URLSearchParams({ query })}` });
const several = "query A { users { name } } query B { posts { title } }";
const big = (id: string) => `{"query":"query U($id: ID) { users { name } }","variables":{"id":${id}}}`;
const cookie = (session: string): Ask => ({ headers: { cookie: `session=${session}` } });
const controlled = { cache: { cache_control: true } };
const fresh = (directives: string): Ask => ({ responseHeaders: { "cache-control": directives } });

/** The second request is answered with the stored result of the first. */
const hits: readonly (readonly [what: string, first: Ask, second: Ask, options?: RouteOptions])[] = [
  ["the same query", {}, {}],
  ["the same query by GET", get(USERS), get(USERS)],
  ["a query of one consumer", { consumer: "ann" }, { consumer: "ann" }],
  ["what Cache-Control allows", fresh("public, max-age=60"), {}, controlled],
  ["a consumer with a cookie", { consumer: "ann", ...cookie("1") }, { consumer: "ann", ...cookie("1") }],
  ["the same cookie, if it is part of the key", cookie("1"), cookie("1"), { cache: { vary_headers: ["Cookie"] } }],
  ["an empty list of errors", { response: '{"errors":[],"data":{"a":null}}' }, {}],
];

/** The second request is forwarded. */
const misses: readonly (readonly [what: string, first: Ask, second: Ask, options?: RouteOptions])[] = [
  ["another consumer", { consumer: "ann" }, { consumer: "bob" }],
  ["a client without a consumer", { consumer: "ann" }, {}],
  [
    "other variables",
    { body: { query: USERS, variables: { id: 1 } } },
    { body: { query: USERS, variables: { id: 2 } } },
  ],
  [
    "another operation of the same document",
    { body: { query: several, operationName: "A" } },
    { body: { query: several, operationName: "B" } },
  ],
  [
    "a number that JavaScript rounds to the same value",
    { body: big("9007199254740993") },
    { body: big("9007199254740992") },
  ],
  ["a number and a text", { body: big("1") }, { body: big('"1"') }],
  ["another media type", {}, { headers: { accept: "application/graphql-response+json" } }],
  ["what Cache-Control calls private", fresh("private, max-age=60"), {}, controlled],
  ["what Cache-Control forbids to store", fresh("no-store"), {}, controlled],
  ["what Cache-Control does not mention", {}, {}, controlled],
  ["another cookie, if it is part of the key", cookie("1"), cookie("2"), { cache: { vary_headers: ["cookie"] } }],
  ["a client with a cookie", {}, cookie("1")],
  ...[
    "",
    "null",
    "7",
    '{"data":',
    '{"data":{"users":"',
    '{"data":null}',
    '{"message":"try later"}',
    "<html><style>a{}</style></html>",
    '<script>{"data":{}}</script>',
    '{"data":{}}{"data":{}}',
    '[{"data":{}}]',
    '{"data":{},"\\u0065rrors":[{}]}',
    '{"data":{},"errors":{}}',
    '{"data":{},"errors":"no"}',
  ].map((response) => [`a response that is no result without errors (${response})`, { response }, {}] as const),
  ["a result with errors", { response: '{"data":null,"errors":[{"message":"no"}]}' }, {}],
  ["a result that is longer than max_response_size", {}, {}, { graphql: { max_response_size: DATA.length - 1 } }],
  ["a result whose errors the plugin does not search", {}, {}, { graphql: { max_response_size: 0 } }],
  ["a result that sets a cookie", { responseHeaders: { "set-cookie": "a=b" } }, {}],
];

/** Such requests are never answered from the cache, and their responses are never stored. */
const bypasses: readonly (readonly [what: string, asked: Ask, options?: RouteOptions])[] = [
  ["a client with a cookie", cookie("1")],
  ["a mutation", { body: { query: "mutation { ping }" } }],
  ["a mutation beside a query", { body: { query: `${USERS} mutation M { ping }`, operationName: "M" } }],
  ["a batch", { body: [{ query: USERS }, { query: POSTS }] }],
  ["a batch of one query and one mutation", { body: [{ query: USERS }, { query: "mutation { ping }" }] }],
  ["a subscription", { body: { query: "subscription { users { name } }" } }],
  [
    "a document that the plugin does not know",
    { body: { documentId: "x" } },
    { graphql: { unknown_documents: "forward" } },
  ],
  ["a query beyond a limit, if the limits are not enforced", {}, { graphql: { enforce: false, max_depth: 1 } }],
  ["a mutation in the URL of a query", { query: "?query=mutation{ping}" }, { graphql: { enforce: false } }],
  ["a mutation by GET", get("mutation { ping }"), { graphql: { enforce: false } }],
];

describe("cached results of GraphQL", () => {
  for (const [what, first, second, options] of hits) {
    it(`are used for ${what}`, async () => {
      const ask = startRoute(options);
      assert.deepEqual([await ask(first), await ask(second)], ["Miss", "Hit"]);
    });
  }

  for (const [what, first, second, options] of misses) {
    it(`are not used for ${what}`, async () => {
      const ask = startRoute(options);
      await ask(first);
      assert.notEqual(await ask(second), "Hit");
    });
  }

  for (const [what, asked, options] of bypasses) {
    it(`are not used for ${what}, whose response is not stored`, async () => {
      const ask = startRoute(options);
      assert.deepEqual([await ask(asked), await ask(asked)], ["Bypass", "Bypass"]);
    });
  }

  it("are not used for a document that has got another text under the same id", async () => {
    const cacheInstance = startResultCache();
    const statuses: unknown[] = [];
    for (const text of [USERS, USERS, POSTS]) {
      const graphql = { trusted_documents: { manifest: JSON.stringify({ one: text }) } };
      statuses.push(await startRoute({ graphql, cacheInstance })({ body: { documentId: "one" } }));
    }
    assert.deepEqual(statuses, ["Miss", "Hit", "Miss"]);
  });
});

const UPDATE: Ask = { body: { query: "mutation { updateUser { id } }" } };

/** Queries, and whether a mutation of users and one of posts purge their results. */
const purged: readonly (readonly [what: string, query: string, byUser: boolean, byPost: boolean, schema?: string])[] = [
  ["a list of users", USERS, true, false],
  ["a list of posts", POSTS, false, true],
  ["posts of users", "{ users { posts { title } } }", true, true],
  [
    "users in fragments",
    "{ ...Q } fragment Q on Query { ... { users { ...U } } } fragment U on User { name }",
    true,
    false,
  ],
  ["an interface, which any type may implement", "{ node { id } }", true, true],
  ["a field that the schema does not have", "{ others { id } }", true, true],
  ["no types", "{ __typename }", false, false],
  ["any query without a schema", USERS, true, true, ""],
];

const BOTH = "{ users { name } posts { title } }";
const unenforced = { enforce: false };

/** Requests that are forwarded although the plugin cannot tell which operations the service executes. */
const unread: readonly (readonly [what: string, asked: Ask, graphql: object])[] = [
  ["a document that is forwarded by its id", { body: { documentId: "x" } }, { unknown_documents: "forward" }],
  ["a document that cannot be parsed", { body: { query: "mutation { updateUser" } }, unenforced],
  ["a batch of 101", { body: Array.from({ length: 101 }, () => ({ query: USERS })) }, unenforced],
  ["another media type", { headers: { "content-type": "text/plain" } }, unenforced],
  ["another method", { method: "PUT" }, unenforced],
  ["a query with another one in the URL", { query: "?query=mutation{updateUser{id}}" }, unenforced],
];

describe("purges of cached results of GraphQL", () => {
  for (const [what, query, byUser, byPost, schema] of purged) {
    it(`reach the results with ${what}`, async () => {
      for (const [mutation, isPurged] of [
        ["mutation { updateUser { id } }", byUser],
        ["mutation { other: addPost { id } }", byPost],
        ["mutation { ...M } fragment M on Mutation { updateUser { id } }", byUser],
        ["mutation { ping }", false],
      ] as const) {
        const ask = startRoute(schema === undefined ? {} : { graphql: { schema: null } });
        await ask({ body: { query } });
        assert.equal(await ask({ body: { query } }), "Hit");
        assert.equal(await ask({ body: { query: mutation } }), "Bypass");
        assert.equal(await ask({ body: { query } }), isPurged ? "Refresh" : "Hit", mutation);
      }
    });
  }

  it("reach the other workers of the node", async () => {
    const counters = new ThreadCounters();
    const [one, other] = [startRoute({ counters }), startRoute({ counters })];
    await one({});
    await other(UPDATE);
    assert.deepEqual([await one({}), await one({})], ["Refresh", "Hit"]);
  });

  it("reach a result that is on its way while the mutation is executed", async () => {
    const ask = startRoute();
    await ask({}, { before: () => ask(UPDATE) });
    assert.deepEqual([await ask({}), await ask({})], ["Refresh", "Hit"]);
  });

  it("reach all results of queries, if a rule names the root type", async () => {
    const byRoot = [{ mutation: "ping", types: ["Query"] }];
    for (const query of [USERS, "{ version }"]) {
      const ask = startRoute({ graphql: { purge: byRoot } });
      await ask({ body: { query } });
      await ask({ body: { query: "mutation { ping }" } });
      assert.equal(await ask({ body: { query } }), "Refresh", query);
    }
  });

  it("do not depend on other types that rules have named before", async () => {
    const cacheInstance = startResultCache();
    await startRoute({ graphql: { purge: cachedPurgeRules.slice(0, 1) }, cacheInstance })({ body: { query: BOTH } });
    const ask = startRoute({ graphql: { purge: cachedPurgeRules.slice(1) }, cacheInstance });
    assert.deepEqual([await ask({ body: { query: BOTH } }), await ask({ body: { query: BOTH } })], ["Refresh", "Hit"]);
  });

  for (const [what, asked, graphql] of unread) {
    it(`follow ${what}, which may be any mutation`, async () => {
      const ask = startRoute({ graphql });
      await ask({});
      await ask(asked);
      assert.equal(await ask({}), "Refresh");
    });
  }

  it("do not follow a query beyond a limit, if the limits are not enforced", async () => {
    const ask = startRoute({ graphql: { enforce: false, max_depth: 2 } });
    await ask({});
    await ask({ body: { query: "{ users { posts { title } } }" } });
    assert.equal(await ask({}), "Hit");
  });

  it("follow a mutation in a batch", async () => {
    const ask = startRoute();
    await ask({});
    await ask({ body: [{ query: POSTS }, { query: "mutation { updateUser { id } }" }] });
    assert.equal(await ask({}), "Refresh");
  });

  it("need names of GraphQL", () => {
    assert.deepEqual(configViolations("graphql", { purge: [{ mutation: "a b", types: ["User,Post"] }] }), [
      "purge.0.mutation: must be a name of GraphQL",
      "purge.0.types.0: must be a name of GraphQL",
    ]);
  });
});
