import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, InjectOptions } from "fastify";
import { arrayStore, postQuery, replyCodesOf, testApp } from "../testing.ts";

const RESPONSE = "application/graphql-response+json";
const QUERY = "{ users { id } }";
const MUTATION = 'mutation { createUser(name: "a", email: "a@b.cd") { id } }';
const SUBSCRIPTION = "subscription { userCreated { id } }";

describe("the endpoint", () => {
  let app: FastifyInstance;
  let address: string;
  before(async () => {
    ({ app } = await testApp());
    address = await app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(() => app.close());

  const json = { "content-type": "application/json" };
  const accept = { accept: RESPONSE };
  const get = (query: string, headers: Record<string, string> = accept): InjectOptions => ({
    url: "/graphql",
    query: { query },
    headers,
  });
  const send = (method: string, payload: InjectOptions["payload"], headers: Record<string, string>): InjectOptions => ({
    method: method as "POST",
    url: "/graphql",
    payload,
    headers: { ...accept, ...headers },
  });
  const body = (query: string): string => JSON.stringify({ query });
  const plain = { "content-type": "application/graphql" };

  const answered: readonly (readonly [string, InjectOptions])[] = [
    ["a query by GET", get(QUERY)],
    ["a query by POST", send("POST", body(QUERY), json)],
    ["a query by QUERY", send("QUERY", body(QUERY), json)],
    ["a document by POST", send("POST", QUERY, plain)],
    ["a document by QUERY", send("QUERY", QUERY, plain)],
    ["a mutation by POST", send("POST", body(MUTATION), json)],
    [
      "a query with null for unused members",
      send("POST", JSON.stringify({ query: QUERY, variables: null, extensions: null }), json),
    ],
  ];
  for (const [name, request] of answered) {
    it(`answers ${name} with a response that must not be stored`, async () => {
      const response = await app.inject(request);
      assert.equal(response.statusCode, 200, response.body);
      assert.equal(response.headers["content-type"], `${RESPONSE}; charset=utf-8`);
      assert.equal(response.headers["cache-control"], "no-store");
      assert.ok(response.json().data);
    });
  }

  it("answers HEAD with 200 and without a body", async () => {
    const { statusCode, body } = await app.inject({ ...get(QUERY), method: "HEAD" });
    assert.deepEqual([statusCode, body], [200, ""]);
  });

  it("answers QUERY over a real connection", async () => {
    const call = httpRequest(`${address}/graphql`, { method: "QUERY", headers: json });
    call.end(body(QUERY));
    const answer = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
      call.once("response", resolve).once("error", reject);
    });
    assert.equal(answer.statusCode, 200);
    assert.ok(JSON.parse(await text(answer)).data);
  });

  const refused: readonly (readonly [string, InjectOptions, number, string, Record<string, string>?])[] = [
    ["a mutation by GET", get(MUTATION), 405, "BAD_REQUEST", { allow: "POST" }],
    ["a mutation by HEAD", { ...get(MUTATION), method: "HEAD" }, 405, "BAD_REQUEST", { allow: "POST" }],
    ["a mutation by QUERY", send("QUERY", body(MUTATION), json), 405, "BAD_REQUEST", { allow: "POST" }],
    ["a subscription by POST", send("POST", body(SUBSCRIPTION), json), 400, "BAD_REQUEST"],
    ["a PUT", send("PUT", body(QUERY), json), 405, "BAD_REQUEST", { allow: "GET, POST, QUERY" }],
    ["a DELETE", send("DELETE", undefined, {}), 405, "BAD_REQUEST", { allow: "GET, POST, QUERY" }],
    ["a TRACE", { method: "TRACE", url: "/graphql" }, 405, "BAD_REQUEST", { allow: "GET, POST, QUERY" }],
    [
      "a compressed body",
      send("POST", gzipSync(body(QUERY)), { ...json, "content-encoding": "gzip" }),
      415,
      "BAD_REQUEST",
      { "accept-encoding": "identity" },
    ],
    [
      "a compressed document",
      send("QUERY", gzipSync(QUERY), { ...plain, "content-encoding": "gzip" }),
      415,
      "BAD_REQUEST",
    ],
    ["a QUERY without a content type", send("QUERY", undefined, {}), 400, "BAD_REQUEST"],
    [
      "a form",
      send("POST", "query={users{id}}", { "content-type": "application/x-www-form-urlencoded" }),
      415,
      "BAD_REQUEST",
    ],
    [
      "plain text, which a page of any site can send,",
      send("POST", body(QUERY), { "content-type": "text/plain" }),
      415,
      "BAD_REQUEST",
    ],
    ["a list of requests", send("POST", `[${body(QUERY)}]`, json), 400, "BAD_REQUEST"],
    [
      "a body that is not UTF-8",
      send("POST", Buffer.from('{"query":"{ a\xff }"}', "latin1"), json),
      400,
      "BAD_REQUEST",
    ],
    ["a document that is not UTF-8", send("POST", Buffer.from([0x7b, 0xff, 0x7d]), plain), 400, "BAD_REQUEST"],
    ["a body with __proto__", send("POST", '{"query":"{a}","__proto__":{"x":1}}', json), 400, "BAD_REQUEST"],
    ["a URL with two queries", { url: "/graphql?query={a}&query={b}", headers: accept }, 400, "BAD_REQUEST"],
    [
      "both query and documentId",
      send("POST", JSON.stringify({ query: QUERY, documentId: "x" }), json),
      400,
      "BAD_REQUEST",
    ],
    ["an id without trusted documents", send("POST", '{"documentId":"x"}', json), 400, "PERSISTED_QUERY_NOT_FOUND"],
    ["a client that wants HTML", get(QUERY, { accept: "text/html" }), 406, "BAD_REQUEST"],
    ["a GET from a page of another site", get(QUERY, { ...accept, "sec-fetch-site": "cross-site" }), 403, "FORBIDDEN"],
  ];
  for (const [name, request, status, code, headers = {}] of refused) {
    it(`refuses ${name} with ${status} ${code}`, async () => {
      const response = await app.inject(request);
      assert.equal(response.statusCode, status, response.body);
      for (const [header, value] of Object.entries(headers)) assert.equal(response.headers[header], value);
      if (request.method !== "HEAD") assert.deepEqual(replyCodesOf(response.json()), [code]);
    });
  }

  it("accepts a cross-site GET that required a preflight, and itself grants no preflight", async () => {
    const headers = { ...accept, "sec-fetch-site": "cross-site", "graphql-require-preflight": "1" };
    assert.equal((await app.inject(get(QUERY, headers))).statusCode, 200);
    const preflight = await app.inject({
      method: "OPTIONS",
      url: "/graphql",
      headers: { origin: "https://evil.example" },
    });
    // Without access-control-allow-origin a browser does not send the GET.
    assert.deepEqual(
      [preflight.statusCode, preflight.headers.allow, preflight.headers["access-control-allow-origin"]],
      [204, "GET, POST, QUERY", undefined],
    );
    assert.equal(preflight.headers["accept-query"], "application/json, application/graphql");
  });

  const byJson = [
    ["a syntax error", { query: "{" }, 200],
    ["a document that does not fit the schema", { query: "{ nobody }" }, 200],
    ["an exceeded limit", { query: `{ ${"a ".repeat(3_000)} }` }, 200],
    ["a missing variable", { query: "query($id: ID!) { user(id: $id) { id } }" }, 200],
    ["a request without a query", {}, 400],
  ] as const;
  for (const [name, payload, status] of byJson) {
    it(`answers ${name} with ${status} and without data in application/json`, async () => {
      const response = await app.inject({ method: "POST", url: "/graphql", payload });
      assert.equal(response.statusCode, status);
      assert.equal(response.headers["content-type"], "application/json; charset=utf-8");
      assert.deepEqual(Object.keys(response.json()), ["errors"]);
    });
  }
});

describe("an operation that takes too long", () => {
  it("is answered with TIMEOUT, and counted as an operation with an error", async () => {
    const store = arrayStore({ users: () => new Promise<never>(() => {}) });
    const { app } = await testApp({ store, limits: { milliseconds: 20 } });
    const reply = await postQuery(app, { query: QUERY });
    const { body } = await app.inject("/metrics");
    await app.close();
    assert.match(body, /^sluice_user_api_operations_total\{operation="",type="query",outcome="error"\} 1$/m);
    assert.match(body, /^sluice_user_api_operation_seconds_count\{type="query"\} 1$/m);
    assert.match(body, /^sluice_user_api_errors_total\{code="TIMEOUT"\} 1$/m);
    assert.deepEqual([reply.status, replyCodesOf(reply), "data" in reply], [503, ["TIMEOUT"], false]);
    assert.equal(reply.errors?.[0]?.message, "The operation took longer than 20 ms");
  });
});

describe("GraphiQL", () => {
  it("is served if it is enabled, with everything that its page loads", async () => {
    const { app } = await testApp({ graphiql: true });
    const page = await app.inject("/graphiql");
    assert.match(page.body, /<title>GraphiQL<\/title>/);
    const loaded = [...page.body.matchAll(/(?:src|href)="\.(\/graphiql\/[^"]+)"/g)].map(([, path = ""]) => path);
    const workers = ["editorWorkerService", "json", "graphql"].map((label) => `/graphiql/${label}.worker.js`);
    assert.equal(loaded.length, 3);
    for (const path of [...loaded, ...workers]) {
      const { statusCode, headers } = await app.inject(path);
      assert.deepEqual([statusCode, headers["x-content-type-options"]], [200, "nosniff"], path);
      assert.match(String(headers["content-security-policy"]), /^default-src 'none'; script-src 'self';/);
    }
    assert.doesNotMatch(page.body, /https?:/);
    assert.match((await app.inject("/graphiql/start.js")).body, /new URL\("\.\/graphql", location\.href\)/);
    await app.close();
  });

  it("is not served if it is disabled", async () => {
    const { app } = await testApp();
    assert.equal((await app.inject("/graphiql")).statusCode, 404);
    await app.close();
  });
});

describe("introspection", () => {
  const query = "{ __schema { queryType { name } } }";

  it("is refused if it is disabled, and error messages for unknown fields suggest no names", async () => {
    const { app } = await testApp({ introspection: false });
    for (const source of [query, '{ __type(name: "User") { name } }']) {
      const codes = replyCodesOf(await postQuery(app, { query: source }));
      assert.ok(codes.length > 0 && codes.every((code) => code === "GRAPHQL_VALIDATION_FAILED"));
    }
    assert.deepEqual((await postQuery(app, { query: "{ __typename }" })).data, { __typename: "Query" });
    const { errors } = await postQuery(app, { query: "{ usres { id } }" });
    assert.equal(errors?.[0]?.message, 'Cannot query field "usres" on type "Query".');
    await app.close();
  });

  it("is answered if it is enabled", async () => {
    const { app } = await testApp();
    assert.deepEqual((await postQuery(app, { query })).data, { __schema: { queryType: { name: "Query" } } });
    await app.close();
  });
});

describe("trusted documents", () => {
  let app: FastifyInstance;
  before(async () => {
    const byId = new Map([
      ["all", QUERY],
      ["make", MUTATION],
    ]);
    ({ app } = await testApp({ trusted: { byId, texts: new Set(byId.values()) } }));
  });
  after(() => app.close());

  const answered: readonly (readonly [string, InjectOptions])[] = [
    ["their ids", { method: "POST", url: "/graphql", payload: { documentId: "all" } }],
    ["an id in a URL", { url: "/graphql?documentId=all" }],
    [
      "an id in the form of Apollo's clients",
      {
        method: "POST",
        url: "/graphql",
        payload: { extensions: { persistedQuery: { version: 1, sha256Hash: "all" } } },
      },
    ],
    [
      "an id with an empty query",
      {
        method: "POST",
        url: "/graphql",
        payload: { query: "", extensions: { persistedQuery: { version: 1, sha256Hash: "all" } } },
      },
    ],
    ["their texts", { method: "POST", url: "/graphql", payload: { query: QUERY } }],
    ["a text with a null id", { method: "POST", url: "/graphql", payload: { query: QUERY, documentId: null } }],
  ];
  for (const [name, request] of answered) {
    it(`are executed when a request has ${name}`, async () => {
      assert.deepEqual((await app.inject(request)).json(), { data: { users: [] } });
    });
  }

  for (const payload of [{ documentId: "none" }, { documentId: "__proto__" }, { query: "{ users { name } }" }]) {
    it(`are the only documents that are executed: not ${JSON.stringify(payload)}`, async () => {
      const response = await app.inject({ method: "POST", url: "/graphql", headers: { accept: RESPONSE }, payload });
      assert.deepEqual([response.statusCode, replyCodesOf(response.json())], [400, ["PERSISTED_QUERY_NOT_FOUND"]]);
    });
  }

  it("follow the rules for methods: a mutation by GET is refused with 405", async () => {
    assert.equal((await app.inject({ url: "/graphql?documentId=make" })).statusCode, 405);
  });
});
