/** Requests that repeat earlier ones, whose decisions the plugin keeps. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeContext, fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { graphql } from "../index.ts";

const USERS = "query Users { users { name } }";
const MUTATION = "mutation { clear }";

const post = (body: object, members: object = {}, query = ""): FakeExchangeOptions => ({
  method: "POST",
  query,
  headers: { "content-type": "application/json", ...members },
  body: JSON.stringify(body),
});
const get = (query: string): FakeExchangeOptions => ({ query: `?${new URLSearchParams({ query })}` });
const persisted = { extensions: { persistedQuery: { version: 1, sha256Hash: hash("sha256", USERS) } } };
const web = (manifest: object) => ({
  id: "00000000-0000-4000-8000-000000000001",
  name: "web",
  manifest: JSON.stringify(manifest),
});

/** Requests to one instance, and the status of each: undefined for one that is forwarded. */
type Row = readonly [
  what: string,
  requests: readonly (readonly [request: FakeExchangeOptions, status: number | undefined])[],
  config?: object,
];

const rows: readonly Row[] = [
  [
    "the same body",
    [
      [post({ query: USERS }), undefined],
      [post({ query: USERS }), undefined],
    ],
  ],
  [
    "a body of the same length",
    [
      [post({ query: "{ a }" }), undefined],
      [post({ query: "{ a  " }), 400],
    ],
  ],
  [
    "another media type",
    [
      [post({ query: USERS }), undefined],
      [post({ query: USERS }, { "content-type": "text/plain" }), 415],
    ],
  ],
  [
    "a body that is the document itself",
    [
      [post({ query: USERS }), undefined],
      [post({ query: USERS }, { "content-type": "application/graphql" }), 400],
    ],
  ],
  [
    "an encoded body",
    [
      [post({ query: USERS }), undefined],
      [post({ query: USERS }, { "content-encoding": "gzip" }), 415],
    ],
  ],
  [
    "a query in the URL",
    [
      [post({ query: USERS }), undefined],
      [post({ query: USERS }, {}, "?query={a}"), 400],
    ],
  ],
  [
    "a mutation by a safe method",
    [
      [post({ query: MUTATION }), undefined],
      [{ ...post({ query: MUTATION }), method: "QUERY" }, 405],
      [post({ query: MUTATION }), undefined],
    ],
  ],
  [
    "the same query by GET",
    [
      [get(USERS), undefined],
      [get(USERS), undefined],
      [get(MUTATION), 405],
      [get(MUTATION), 405],
    ],
  ],
  [
    "a hash before and after its document",
    [
      [post(persisted), 200],
      [post(persisted), 200],
      [post({ query: USERS }), undefined],
      [post(persisted), undefined],
      [post(persisted), undefined],
    ],
  ],
  [
    "other variables, on which the cost depends",
    [
      [post({ query: "query ($n: Int) { users(first: $n) { id } }", variables: { n: 5 } }), undefined],
      [post({ query: "query ($n: Int) { users(first: $n) { id } }", variables: { n: 6 } }), 400],
      [post({ query: "query ($n: Int) { users(first: $n) { id } }", variables: { n: 5 } }), undefined],
    ],
    { schema: "type Query { users(first: Int): [User] } type User { id: ID }", max_cost: 5 },
  ],
  [
    "a document that is no longer trusted",
    [
      [{ ...post({ query: USERS }), graphqlDocuments: [web({ a: USERS })] }, undefined],
      [{ ...post({ query: USERS }), graphqlDocuments: [web({ a: MUTATION })] }, 403],
      [{ ...post({ query: USERS }), graphqlDocuments: [web({ a: USERS })] }, undefined],
    ],
    { trusted_documents: { documents: ["web"] } },
  ],
  [
    "a body that is longer than any that is kept",
    [
      [long(9000), undefined],
      [long(9000), undefined],
      [long(9001), undefined],
    ],
  ],
];

function long(length: number): FakeExchangeOptions {
  return post({ query: USERS, variables: { text: "x".repeat(length) } });
}

const instance = (config: object = {}) =>
  graphql.phases(withConfigDefaults("graphql", config), fakeContext({ plugin: "graphql" }));

describe("repeated requests of GraphQL", () => {
  for (const [what, requests, config] of rows)
    for (const isBodyLate of [false, true])
      it(`are decided like the first one, with ${what}${isBodyLate ? ", if bodies arrive late" : ""}`, async () => {
        const phases = instance(config);
        for (const [request, status] of requests) {
          const exchange = fakeExchange({ ...request, isBodyLate });
          assert.equal((await phases.access?.(exchange))?.status, status, JSON.stringify(request));
        }
      });

  it("are decided without a promise if their bodies have arrived", () => {
    const phases = instance();
    for (const request of [post({ query: USERS }), post({ query: USERS }), get(USERS)])
      assert.equal(phases.access?.(fakeExchange(request)), undefined);
  });

  it("get the trusted document that they name, every time", async () => {
    const phases = instance({ trusted_documents: { manifest: JSON.stringify({ one: USERS }) } });
    for (let time = 0; time < 3; time++) {
      const exchange = fakeExchange(post({ documentId: "one" }));
      assert.equal(await phases.access?.(exchange), undefined);
      assert.equal(exchange.replacedBody?.toString(), JSON.stringify({ query: USERS }));
    }
  });

  it("leave the same values for other plugins", async () => {
    const phases = instance();
    const [first, second] = [fakeExchange(post({ query: USERS })), fakeExchange(post({ query: USERS }))];
    for (const exchange of [first, second]) await phases.access?.(exchange);
    assert.deepEqual(second.shared, first.shared);
    assert.deepEqual(second.logFields, first.logFields);
    assert.equal(first.shared.get("graphql.operation"), "Users");
  });
});
