/** Trusted documents: which requests are refused, and what the service gets. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { type FakeRequest, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { graphql } from "./index.ts";

const USERS = "query Users($id: ID) { user(id: $id) { name } }";
const CLEAR = "mutation Clear { clear }";
const OTHER = "query Other { other }";
const sha256 = hash("sha256", USERS);
const md5 = "3be4abb81fa595e25eb725b2c6a87508";

const apollo = JSON.stringify({
  format: "apollo-persisted-query-manifest",
  version: 1,
  operations: [
    { id: sha256, name: "Users", type: "query", body: USERS },
    { id: "clear", name: "Clear", type: "mutation", body: CLEAR },
  ],
});
const relay = JSON.stringify({ [md5]: USERS, clear: CLEAR });

function instance(trusted: object) {
  const config = withConfigDefaults("graphql", { trusted_documents: { manifest: apollo, ...trusted } });
  const phases = graphql.phases(config, fakeContext({ plugin: "graphql" }));
  return async (request: FakeRequest) => {
    const exchange = fakeExchange(request);
    const response = await phases.access?.(exchange);
    const refused = exchange.logFields.get("graphql.refused");
    return {
      status: response?.status,
      refused,
      body: exchange.replacedBody?.toString(),
      query: exchange.upstreamQuery,
    };
  };
}

const post = (body: unknown): FakeRequest => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const get = (parameters: Readonly<Record<string, string>>): FakeRequest => ({
  method: "GET",
  query: `?${new URLSearchParams(parameters)}`,
});
const persisted = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });

const sent: readonly (readonly [what: string, manifest: string, request: FakeRequest, body: string | undefined])[] = [
  ["a trusted document", apollo, post({ query: USERS }), undefined],
  [
    "its hash, with its variables unchanged",
    apollo,
    post(`{"variables":{"id":12345678901234567890},"extensions":${JSON.stringify(persisted(sha256))}}`),
    `{"variables":{"id":12345678901234567890},"extensions":${JSON.stringify(persisted(sha256))},"query":${JSON.stringify(USERS)}}`,
  ],
  [
    "documentId",
    apollo,
    post({ documentId: "clear", operationName: "Clear" }),
    JSON.stringify({ operationName: "Clear", query: CLEAR }),
  ],
  ["a hash as documentId", relay, post({ documentId: `sha256:${sha256}` }), JSON.stringify({ query: USERS })],
  ["the id of Relay's compiler", relay, post({ id: md5 }), JSON.stringify({ query: USERS })],
  ["this id as Relay's guide names it", relay, post({ doc_id: md5, query: null }), JSON.stringify({ query: USERS })],
  [
    "a hash beside ids that are null",
    apollo,
    post({ documentId: null, id: null, doc_id: null, extensions: persisted(sha256) }),
    JSON.stringify({ extensions: persisted(sha256), query: USERS }),
  ],
  ["a hash that the manifest does not have as an id", relay, post({ extensions: persisted(sha256) }), undefined],
];

describe("trusted documents of graphql", () => {
  for (const [what, manifest, request, body] of sent) {
    it(`are forwarded if the request has ${what}`, async () => {
      const result = await instance({ manifest })(request);
      assert.deepEqual([result.status, result.refused], [undefined, undefined]);
      if (body !== undefined) assert.equal(result.body, body);
    });
  }

  it("replace the id in the URL of a GET request", async () => {
    const { query } = await instance({})(get({ documentId: sha256, variables: "{}", other: "1" }));
    assert.equal(query, `?${new URLSearchParams({ variables: "{}", other: "1", query: USERS })}`);
  });

  for (const name of ["id", "doc_id"])
    it(`replace ${name} in the URL of a GET request, which some services read`, async () => {
      const { query } = await instance({})(get({ [name]: sha256, variables: "{}" }));
      assert.equal(query, `?${new URLSearchParams({ variables: "{}", query: USERS })}`);
    });

  it("are forwarded by their ids with forward: id", async () => {
    assert.deepEqual(await instance({ forward: "id" })(post({ documentId: "clear" })), {
      status: undefined,
      refused: undefined,
      body: undefined,
      query: "",
    });
  });

  for (const [what, request] of [
    ["another document", post({ query: OTHER })],
    ["a trusted document with another space", post({ query: `${USERS} ` })],
    ["an unknown id", post({ documentId: "other" })],
    ["an unknown hash", post({ extensions: persisted(hash("sha256", OTHER)) })],
    ["another document by GET", get({ query: OTHER })],
    ["an unknown id by GET", get({ id: "other" })],
    ["an unknown id by GET, as Relay's guide names it", get({ doc_id: "other" })],
    ["another document in a batch", post([{ query: USERS }, { query: OTHER }])],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const { status, refused } = await instance({})(request);
      assert.deepEqual([status, refused], [403, "DOCUMENT_NOT_TRUSTED"]);
    });

    it(`with mode log forward ${what}, and log it`, async () => {
      const config = { enforce: true, unknown_documents: "forward" };
      const phases = graphql.phases(
        withConfigDefaults("graphql", { ...config, trusted_documents: { manifest: apollo, mode: "log" } }),
        fakeContext({ plugin: "graphql" }),
      );
      const exchange = fakeExchange(request);
      assert.equal(await phases.access?.(exchange), undefined);
      assert.equal(exchange.logFields.get("graphql.refused"), "DOCUMENT_NOT_TRUSTED");
    });
  }

  it("refuse a hash even after a client has sent the document", async () => {
    const send = instance({});
    await send(post({ query: OTHER }));
    assert.equal((await send(post({ extensions: persisted(hash("sha256", OTHER)) }))).status, 403);
  });

  for (const name of ["id", "doc_id", "documentId"])
    it(`refuse a trusted document by POST with ${name} of another one in the URL, which some services prefer`, async () => {
      const { status } = await instance({})({ ...post({ query: USERS }), query: `?${name}=other` });
      assert.equal(status, 400);
    });

  it("refuse a mutation by GET, and ids in a batch", async () => {
    for (const name of ["documentId", "id"]) assert.equal((await instance({})(get({ [name]: "clear" }))).status, 405);
    assert.equal((await instance({})(get({ Id: "clear" }))).status, 400);
    assert.equal((await instance({})(post([{ documentId: "clear" }]))).status, 400);
  });

  describe("of entities", () => {
    const web = { id: "00000000-0000-4000-8000-000000000001", name: "web", manifest: apollo };
    const mobile = {
      id: "00000000-0000-4000-8000-000000000002",
      name: "mobile",
      manifest: JSON.stringify({ o: OTHER }),
    };
    const named = (config: object = {}) =>
      graphql.phases(
        withConfigDefaults("graphql", { trusted_documents: { documents: ["web", mobile.id] }, ...config }),
        fakeContext({ plugin: "graphql" }),
      );
    const ask = async (phases: ReturnType<typeof named>, request: FakeRequest, graphqlDocuments = [web, mobile]) => {
      const exchange = fakeExchange({ ...request, graphqlDocuments });
      const response = await phases.access?.(exchange);
      return { status: response?.status, reason: response?.reason, body: exchange.replacedBody?.toString() };
    };

    it("are those of all entities that the config names, and of its manifest", async () => {
      const own = JSON.stringify({ own: "{ own }" });
      const phases = named({ trusted_documents: { documents: ["web", "mobile"], manifest: own } });
      for (const query of [USERS, CLEAR, OTHER, "{ own }"])
        assert.equal((await ask(phases, post({ query }))).status, undefined, query);
      assert.equal((await ask(phases, post({ query: "{ another }" }))).status, 403);
      assert.equal((await ask(phases, post({ documentId: "o" }))).body, JSON.stringify({ query: OTHER }));
    });

    it("follow a new manifest with the next request", async () => {
      const phases = named();
      const statuses: (number | undefined)[] = [];
      for (const manifest of ["{}", apollo, "{}"])
        statuses.push((await ask(phases, post({ query: USERS }), [{ ...web, manifest }, mobile])).status);
      assert.deepEqual(statuses, [403, undefined, 403]);
    });

    it("take the first of two documents with one id", async () => {
      const other = { ...mobile, manifest: JSON.stringify({ clear: OTHER }) };
      assert.equal(
        (await ask(named(), post({ documentId: "clear" }), [web, other])).body,
        JSON.stringify({ query: CLEAR }),
      );
    });

    it("close the route while one of them does not exist", async () => {
      for (const request of [post({ query: USERS }), get({ query: USERS }), { method: "OPTIONS" }]) {
        assert.deepEqual(await ask(named(), request, [mobile]), {
          status: 503,
          reason: "graphql: there are no GraphQL documents with the name or id web",
          body: undefined,
        });
      }
    });

    for (const [how, config] of [
      ["mode: log", { trusted_documents: { documents: ["web", "mobile"], mode: "log" } }],
      ["enforce: false", { enforce: false }],
    ] as const) {
      it(`do not close the route with ${how}`, async () => {
        assert.equal((await ask(named(config), post({ query: USERS }), [mobile])).status, undefined);
      });
    }

    it("are needed: an empty list without a manifest is refused", () => {
      for (const [trusted, message] of [
        [{}, "trusted_documents: must set manifest, documents or both"],
        [{ documents: [] }, "trusted_documents.documents: length must be at least 1"],
      ] as const)
        assert.deepEqual(configViolations("graphql", { trusted_documents: trusted }), [message]);
    });
  });

  for (const [manifest, message] of [
    ["[]", "must be a JSON object"],
    ["{", "must be JSON: a persisted query manifest, or an object with the texts of documents by their ids"],
    ['{"format":"other"}', "the format must be apollo-persisted-query-manifest"],
    ['{"format":"apollo-persisted-query-manifest","version":2}', "the version of the manifest must be 1"],
    ['{"a":"{"}', "the document a is invalid: Syntax Error: Expected Name, found <EOF>."],
    ['{"a":1}', "each document must have an id and a text"],
  ] as const) {
    it(`with the manifest ${manifest} are refused`, () => {
      assert.deepEqual(configViolations("graphql", { trusted_documents: { manifest } }), [
        `trusted_documents.manifest: ${message}`,
      ]);
    });
  }
});
