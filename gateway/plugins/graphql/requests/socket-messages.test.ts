/** Operations in the messages of a WebSocket. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, fakeContext, fakeExchange, printMetrics } from "../../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { graphql } from "../index.ts";

const protocol = "graphql-transport-ws";

async function open(config: object = {}, headers: Readonly<Record<string, string>> = {}, query = "") {
  const metrics = createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" });
  const phases = graphql.phases(
    withConfigDefaults("graphql", { websocket: "inspect", ...config }),
    fakeContext({ plugin: "graphql", metrics }),
  );
  const exchange = fakeExchange({
    query,
    headers: { connection: "upgrade", upgrade: "websocket", "sec-websocket-protocol": protocol, ...headers },
  });
  const response = await phases.access?.(exchange);
  const text = () => printMetrics(metrics.tables);
  return { status: response?.status, inspector: exchange.messageInspector, metrics: text };
}

const message = (type: string, payload?: unknown, id = "1"): string => JSON.stringify({ id, type, payload });
const deep = `${"{a".repeat(21)}${"}".repeat(21)}`;

const forwarded: readonly (readonly [what: string, text: string])[] = [
  ["connection_init", '{"type":"connection_init","payload":{"token":"x"}}'],
  ["a ping", '{"type":"ping"}'],
  ["the end of an operation", message("complete")],
  ["a subscription", message("subscribe", { query: "subscription { added { id } }" })],
  ["a mutation", message("subscribe", { query: "mutation { clear }", variables: { a: 1 } })],
  ["a subscription of the older protocol", message("start", { query: "subscription { added { id } }" })],
  ["the end of an operation of the older protocol", message("stop")],
];

const refused: readonly (readonly [what: string, payload: unknown, code: string, config?: object])[] = [
  ["a document beyond a limit", { query: deep }, "LIMIT_EXCEEDED"],
  ["introspection", { query: "{ __schema { types { name } } }" }, "INTROSPECTION_DISABLED"],
  ["a syntax error", { query: "{" }, "GRAPHQL_PARSE_FAILED"],
  ["an operation that costs too much", { query: "{ a { b { c } } }" }, "LIMIT_EXCEEDED", { max_cost: 1 }],
  [
    "a document that is not trusted",
    { query: "{ other }" },
    "DOCUMENT_NOT_TRUSTED",
    { trusted_documents: { manifest: '{"a":"{ a }"}' } },
  ],
  ["a name in another letter case", { query: "{ a }", Query: deep }, "BAD_REQUEST"],
  ["no query", {}, "BAD_REQUEST"],
  ["a payload that is not an object", "x", "BAD_REQUEST"],
];

const closing: readonly (readonly [what: string, text: string])[] = [
  ["text that is not JSON", "hello"],
  ["a JSON value that is not an object", "[]"],
  ["a repeated name", '{"id":"1","type":"ping","type":"subscribe","payload":{"query":"{ a }"}}'],
  ["a repeated name in the payload", '{"id":"1","type":"subscribe","payload":{"query":"{ a }","query":"{ b }"}}'],
  ["a type in another letter case", '{"id":"1","type":"ping","Type":"subscribe","payload":{"query":"{ a }"}}'],
  ["an unknown type", message("query", { query: "{ a }" })],
  ["an operation without an id", '{"type":"subscribe","payload":{"query":"{ a }"}}'],
];

describe("operations over a WebSocket", () => {
  for (const [what, text] of forwarded)
    it(`are forwarded: ${what}`, async () => assert.equal((await open()).inspector?.inspect(text), null));

  for (const [what, payload, code, config] of refused)
    it(`are refused with an error for their id: ${what}`, async () => {
      const { inspector } = await open(config);
      const answer = (type: string) => {
        const verdict = inspector?.inspect(message(type, payload, "7"));
        assert.ok(verdict && "reply" in verdict);
        return JSON.parse(verdict.reply);
      };
      const { payload: errors, ...rest } = answer("subscribe");
      assert.deepEqual(rest, { id: "7", type: "error" });
      assert.deepEqual([errors.length, errors[0].extensions.code], [1, code]);
      assert.equal(answer("start").payload.extensions.code, code);
    });

  for (const [what, text] of closing)
    it(`close the WebSocket with the code 4400: ${what}`, async () => {
      const verdict = (await open()).inspector?.inspect(text);
      assert.equal(verdict && "close" in verdict ? verdict.close : verdict, 4400);
    });

  it("have the text of a trusted document instead of its id", async () => {
    const { inspector } = await open({ trusted_documents: { manifest: '{"added":"subscription { added { id } }"}' } });
    const text =
      '{"id":"1","type":"subscribe","payload":{"documentId":"added","variables":{"n":12345678901234567890}}}';
    assert.deepEqual(inspector?.inspect(text), {
      forward:
        '{"id":"1","type":"subscribe","payload":{"variables":{"n":12345678901234567890},"query":"subscription { added { id } }"}}',
    });
  });

  it("are forwarded and counted without enforce, whatever they are", async () => {
    const { inspector, metrics } = await open({ enforce: false });
    for (const text of ["hello", message("subscribe", { query: deep })]) assert.equal(inspector?.inspect(text), null);
    assert.match(await metrics(), /sluice_graphql_refused_total\{.*limit="depth"\} 1/);
  });

  for (const [what, headers] of [
    ["without a protocol", { "sec-websocket-protocol": "" }],
    ["of another protocol", { "sec-websocket-protocol": "chat" }],
    ["that offers another protocol too", { "sec-websocket-protocol": `${protocol}, chat` }],
  ] as const)
    it(`need a protocol that the plugin knows: a request ${what} is refused, or not inspected`, async () => {
      assert.equal((await open({}, headers)).status, 400);
      const { status, inspector } = await open({ enforce: false }, headers);
      assert.deepEqual([status, inspector], [undefined, null]);
    });

  for (const websocket of ["inspect", "forward"])
    it(`do not hide an operation in the URL of the request, with ${websocket}`, async () => {
      const query = `?${new URLSearchParams({ query: deep })}`;
      assert.equal((await open({ websocket }, {}, query)).status, 400);
    });

  it("do not hide a body", async () => {
    assert.equal((await open({ websocket: "forward" }, { "content-length": "9" })).status, 400);
  });
});
