import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { RecordedOperation } from "@sluice/plugin-sdk";
import {
  createMetrics,
  type FakeExchangeOptions,
  type FakeRequest,
  fakeContext,
  fakeExchange,
  fakeService,
  printMetrics,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { graphql } from "./index.ts";

const START = 1_700_000_000_000;

/**
 * An instance with a clock that refuses nothing, and a service that answers with the given parts of a response. Refusals
 * are tested in attacks.test.ts.
 */
function startInstance(config: object = {}) {
  let time = START;
  const recorded: RecordedOperation[] = [];
  const metrics = createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" });
  const context = fakeContext({
    plugin: "graphql",
    now: () => time,
    metrics,
    operations: { record: (operation) => void recorded.push(operation) },
  });
  const phases = graphql.phases(withConfigDefaults("graphql", { enforce: false, ...config }), context);
  return {
    metrics,
    advance(milliseconds: number) {
      time += milliseconds;
    },
    /** Returns `type name`, with a `!` if the operation failed. */
    async serve(request: FakeRequest, response: FakeExchangeOptions = {}, ...pieces: readonly (string | Buffer)[]) {
      const exchange = fakeExchange({
        responseHeaders: { "content-type": "application/json" },
        ...request,
        ...response,
      });
      assert.equal(await phases.access?.(exchange), undefined);
      const filter = phases.responseBody?.(exchange);
      if (filter && "observe" in filter) {
        for (const piece of pieces) filter.observe(Buffer.from(piece));
        filter.complete();
      }
      phases.log?.(exchange);
      return recorded.splice(0).map(({ type, name, failed }) => `${type} ${name}${failed ? "!" : ""}`);
    },
  };
}

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}): FakeRequest => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});
const get = (parameters: Readonly<Record<string, string>>): FakeRequest => ({
  method: "GET",
  query: `?${new URLSearchParams(parameters)}`,
});
const persisted = (sha256Hash: unknown) => ({ persistedQuery: { version: 1, sha256Hash } });

const USERS = "query Users { users { name } }";
const BOTH = `${USERS} mutation AddUser($name: String = "}") { add(name: $name) { id } }`;
const digest = hash("sha256", USERS);

const readable: readonly (readonly [what: string, request: FakeRequest, operations: readonly string[]])[] = [
  ["the name in the document", post({ query: USERS }), ["query Users"]],
  [
    "the name of the request, if the document has several",
    post({ query: BOTH, operationName: "AddUser" }),
    ["mutation AddUser"],
  ],
  [
    "a media type with parameters",
    post({ query: USERS }, { "content-type": "Application/JSON; charset=utf-8" }),
    ["query Users"],
  ],
  ["a document without a name", post({ query: "{ users { name } }" }), ["query (unnamed)"]],
  ["an anonymous mutation", post({ query: "mutation { clear }", operationName: "" }), ["mutation (unnamed)"]],
  ["a subscription over HTTP", post({ query: "subscription Added { added { id } }" }), ["subscription Added"]],
  [
    "fragments, directives, comments, descriptions and default values",
    post({
      query: `# { comment
        "A description." query Users($f: Filter = {a: [{b: 1}]}) @cached(by: {c: "{"}) { ...U } fragment U on User { name }`,
    }),
    ["query Users"],
  ],
  ["a document sent as application/graphql", post(USERS, { "content-type": "application/graphql" }), ["query Users"]],
  ["the parameters of a GET request", get({ query: BOTH, operationName: "Users" }), ["query Users"]],
  ["each operation of a batch", post([{ query: USERS }, { query: "{ a }" }]), ["query Users", "query (unnamed)"]],
  [
    "a persisted query with its name",
    post({ operationName: "Users", extensions: persisted(digest) }),
    ["unknown Users"],
  ],
  [
    "the name of the request, if the document is too long to be read",
    post({ query: `${BOTH} #${"x".repeat(16_384)}`, operationName: "Users" }),
    ["unknown Users"],
  ],
  [
    "a persisted query without a name by its hash",
    post({ extensions: persisted(digest) }),
    [`unknown (${digest.slice(0, 12)})`],
  ],
  [
    "a persisted query of a GET request",
    get({ extensions: JSON.stringify(persisted(digest)), operationName: "Users" }),
    ["unknown Users"],
  ],
  ["a persisted document by its id", post({ documentId: "users:v2" }), ["unknown (users:v2)"]],
  [
    "a persisted document by the hash in its id",
    post({ documentId: `sha256:${digest}` }),
    [`unknown (${digest.slice(0, 12)})`],
  ],
];

const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

const unreadable: readonly (readonly [what: string, request: FakeRequest])[] = [
  ["a body that is not JSON", post("{query:")],
  ["an empty body", post("")],
  ["a body above max_body_size", post({ query: USERS, variables: { text: "x".repeat(131_072) } })],
  ["a body that is nested deeply", post(deep(60_000))],
  ["a document that is nested deeply", post({ query: "{a".repeat(2000) })],
  ["a document with very many tokens", post({ query: `{ ${"a ".repeat(6000)} }` })],
  ["a document that is too long", post({ query: `query Users { a } #${"x".repeat(16_384)}` })],
  ["a document with very many operations", post({ query: "query A { a } ".repeat(101), operationName: "A" })],
  ["a batch of 10,000", post(Array.from({ length: 10_000 }, () => ({ query: "{a}" })))],
  ["an empty batch", post([])],
  ["a compressed body", post(gzipSync(JSON.stringify({ query: USERS })), { "content-encoding": "gzip" })],
  ["a body that is not UTF-8", post(Buffer.from([0x22, 0xff, 0x22]))],
  ["a form with files", post("--a--", { "content-type": "multipart/form-data; boundary=a" })],
  ["a body without a media type", { method: "POST", body: JSON.stringify({ query: USERS }) }],
  ["a JSON body that is not an object", post("7")],
  ["a query that is not a string", post({ query: ["{a}"] })],
  ["a name that is not a string", post({ query: USERS, operationName: 7 })],
  ["a name with other characters", post({ operationName: 'Users"\n', extensions: persisted(digest) })],
  ["a name that is too long", post({ query: `query ${"x".repeat(129)} { a }` })],
  ["a name that the document does not have", post({ query: USERS, operationName: "Others" })],
  ["a name that the document has twice", post({ query: USERS + USERS, operationName: "Users" })],
  ["several operations and no name", post({ query: BOTH })],
  ["a document without operations", post({ query: "fragment U on User { name }" })],
  ["a document of a schema", post({ query: "type User { name: String }" })],
  ["a document with a closing bracket too many", post({ query: "{ a }}" })],
  ["a document without an end", post({ query: "query Users { users" })],
  ["a document with a string without an end", post({ query: 'query Users { users(name: "a) }' })],
  ["extensions that are not an object", post({ extensions: "persisted" })],
  ["a hash that is not a string", post({ extensions: persisted({}) })],
  ["the name of a prototype's member", post({ query: USERS, operationName: "__proto__" })],
  ["the id of a document with other characters", post({ documentId: "a b" })],
];

const ignored: readonly (readonly [what: string, request: FakeRequest])[] = [
  ["a page", { method: "GET" }],
  ["a page with parameters", get({ theme: "dark" })],
  ["a preflight request", { method: "OPTIONS" }],
  ["an upgrade to WebSocket", { method: "GET", headers: { connection: "upgrade", upgrade: "websocket" } }],
];

const ok = '{"data":{"errors":[1],"list":[{"errors":[{}]}]},"extensions":{"errors":[2]}}';
const bad = '{"data":null,"errors":[{"message":"no"}]}';

const results: readonly (readonly [what: string, response: FakeExchangeOptions, body: string, failed: boolean])[] = [
  ["data only", {}, ok, false],
  ["errors after the data", {}, bad, true],
  ["errors before the data", {}, ' { "errors" : [ { } ] , "data" : { } }', true],
  ["an empty list of errors", {}, '{"errors":[ ],"data":{}}', false],
  ["errors that are null", {}, '{"errors":null,"data":{"a":[1]}}', false],
  ["errors that are an object", {}, '{"errors":{},"data":{}}', true],
  ["errors that are a text", {}, '{"data":{},"errors":"no"}', true],
  ["a text that contains errors", {}, '{"data":"\\",\\"errors\\":[1]"}', false],
  ["a name that ends like errors", {}, '{"\\\\errors":[1],"no errors":[1],"errors ":[1],"error":[1]}', false],
  ["errors below max_response_size", {}, `{"data":"${"x".repeat(980)}","errors":[1]}`, true],
  ["errors above max_response_size", {}, `{"data":"${"x".repeat(1000)}","errors":[1]}`, false],
  [
    "errors in a response with the media type of GraphQL",
    { responseHeaders: { "content-type": "application/graphql-response+json" } },
    bad,
    true,
  ],
  ["a response that is not JSON", { responseHeaders: { "content-type": "text/html" } }, bad, false],
  [
    "an event with errors",
    { responseHeaders: { "content-type": "text/event-stream; charset=utf-8" } },
    `:\n\nevent: next\ndata: ${ok}\n\nevent: next\ndata: ${bad}\n\nevent: complete\n\n`,
    true,
  ],
  [
    "an event with errors of GraphQL Yoga",
    { responseHeaders: { "content-type": "text/event-stream", "content-encoding": "none" } },
    `event: next\ndata: ${bad}\n\n`,
    true,
  ],
  [
    "events without errors",
    { responseHeaders: { "content-type": "text/event-stream" } },
    `event: next\ndata: ${ok}\n\nevent: complete\n\n`,
    false,
  ],
  ["the status 400", { status: 400 }, ok, true],
  ["the status 502 of the gateway", { status: 502, source: "gateway" }, "", true],
  ["no response", { status: 0 }, "", true],
];

describe("the operations that graphql counts", () => {
  for (const [what, request, operations] of readable) {
    it(`counts ${what}`, async () => assert.deepEqual(await startInstance().serve(request), operations));
  }

  it("leaves the type, name and document of a single operation for traces, but no name of a refused one", async () => {
    const sharedAfter = async (request: FakeRequest, config: object = {}) => {
      const exchange = fakeExchange(request);
      await graphql.phases(withConfigDefaults("graphql", config), fakeContext()).access?.(exchange);
      return Object.fromEntries(exchange.shared);
    };
    const found = { "graphql.operation.type": "query", "graphql.document.hash": digest };
    const forwarded = { "graphql.cost": "1", "graphql.operation": "Users", "graphql.cacheable": true };
    assert.deepEqual(await sharedAfter(post({ query: USERS })), { ...found, ...forwarded });
    assert.deepEqual(await sharedAfter(post({ query: USERS }), { max_root_fields: 1, max_depth: 1 }), found);
    assert.deepEqual(await sharedAfter(post([{ query: USERS }, { query: USERS }])), {
      ...forwarded,
      "graphql.cost": "2",
      "graphql.cacheable": false,
    });
  });

  for (const [what, request] of unreadable) {
    it(`counts as unknown: ${what}`, async () =>
      assert.deepEqual(await startInstance().serve(request), ["unknown (unknown)"]));
  }

  for (const [what, request] of ignored) {
    it(`does not count ${what}`, async () => assert.deepEqual(await startInstance().serve(request), []));
  }

  for (const [what, response, body, failed] of results) {
    it(`${failed ? "counts an error" : "counts no error"} for ${what}, however the body is split`, async () => {
      for (const size of [body.length + 1, 7, 1]) {
        const pieces = Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
          body.slice(at * size, (at + 1) * size),
        );
        const served = await startInstance({ max_response_size: 1010 }).serve(
          post({ query: USERS }),
          response,
          ...pieces,
        );
        assert.deepEqual(served, [`query Users${failed ? "!" : ""}`]);
      }
    });
  }

  it("finds the failed operations of a batch; a single result applies to all operations", async () => {
    const { serve } = startInstance();
    const batch = post(["A", "B", "C"].map((name) => ({ query: `query ${name} { a }` })));
    assert.deepEqual(await serve(batch, {}, `[${ok},${bad}, {"data":["errors",[1]]}]`), [
      "query A",
      "query B!",
      "query C",
    ]);
    assert.deepEqual(await serve(batch, {}, bad), ["query A!", "query B!", "query C!"]);
  });

  it("does not count what other plugins of the gateway refuse", async () => {
    assert.deepEqual(await startInstance().serve(post({ query: USERS }), { status: 429, source: "gateway" }), []);
  });

  it("with max_response_size 0, only the status decides whether an operation has failed", async () => {
    assert.deepEqual(await startInstance({ max_response_size: 0 }).serve(post({ query: USERS }), {}, bad), [
      "query Users",
    ]);
  });

  it("knows the type and the name of a persisted query after a client has sent the document", async () => {
    const { serve } = startInstance();
    await serve(post({ query: USERS, extensions: persisted("0".repeat(64)) }));
    assert.deepEqual(await serve(post({ extensions: persisted(digest.toUpperCase()) })), ["query Users"]);
    assert.deepEqual(await serve(post({ documentId: `sha256:${digest}` })), ["query Users"]);
    assert.deepEqual(await serve(post({ extensions: persisted("0".repeat(64)) })), ["unknown (000000000000)"]);
  });

  it("counts further names as other, until a name has not been used for an hour", async () => {
    const { serve, advance } = startInstance({ max_operations: 2 });
    const named = (name: string) => serve(post({ query: `query ${name} { a }` }));
    const several = async (...names: readonly string[]) => (await Promise.all(names.map(named))).flat();
    assert.deepEqual(await several("A", "B", "C", "A"), ["query A", "query B", "query (other)", "query A"]);
    assert.deepEqual(await serve(post({ query: "{ a }" })), ["query (unnamed)"]);
    assert.deepEqual(await serve(post("")), ["unknown (unknown)"]);
    advance(3_000_000);
    assert.deepEqual(await several("A", "C"), ["query A", "query (other)"]);
    advance(600_000);
    assert.deepEqual(await several("C", "B", "A"), ["query C", "query (other)", "query A"]);
  });

  it("exports requests and durations by service, type, name and hash of the document", async () => {
    const { serve, metrics } = startInstance();
    const ended = { service: fakeService(), timings: { started: 100, ended: 350 } };
    await serve(post({ query: USERS }), ended);
    await serve(post({ query: USERS }), ended, bad);
    const lines = (await printMetrics(metrics.tables)).split("\n");
    const labels = `service="users",type="query",operation="Users",hash="${digest.slice(0, 12)}"`;
    assert.deepEqual(
      lines.filter((line) => /^sluice_graphql_(requests|.*_(sum|count)|.*le="0.25")/.test(line)),
      [
        `sluice_graphql_requests_total{${labels},result="ok"} 1`,
        `sluice_graphql_requests_total{${labels},result="error"} 1`,
        `sluice_graphql_duration_seconds_bucket{le="0.25",${labels}} 2`,
        `sluice_graphql_duration_seconds_sum{${labels}} 0.5`,
        `sluice_graphql_duration_seconds_count{${labels}} 2`,
      ],
    );
  });

  it("refuses limits outside their ranges", () => {
    assert.deepEqual(configViolations("graphql", { max_operations: 0, max_body_size: 2 ** 21 }), [
      "max_operations: value should be between 1 and 1000",
      "max_body_size: value should be between 1 and 1048576",
    ]);
  });
});
