/** How operations over a WebSocket end, and when the results that mutations change are purged. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import type { RecordedOperation } from "@sluice/plugin-sdk";
import {
  createMetrics,
  fakeContext,
  fakeExchange,
  pluginInstance,
  printMetrics,
  TestClock,
} from "../../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../../test/plugins/filled-configs.ts";
import { DATA, startResultCache, startRoute } from "../testing-cached-route.ts";

const QUERY = "query Users { users { name } }";
const MUTATION = "mutation Update { updateUser { id } }";
const SUBSCRIPTION = "subscription Added { added { id } }";

const message = (type: string, payload?: unknown, id = "1"): string => JSON.stringify({ id, type, payload });
const next = (payload: object, id = "1"): string => message("next", payload, id);
const DONE = message("complete");
const failedResult = { data: null, errors: [{ message: "no" }] };

/** A WebSocket on a route with the plugins graphql and proxy-cache. */
async function open(config: object = {}) {
  const clock = { now: 1_700_000_000_000 };
  const recorded: RecordedOperation[] = [];
  const metrics = createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" });
  const context = fakeContext({
    plugin: "graphql",
    metrics,
    now: () => clock.now,
    operations: { record: (operation) => void recorded.push(operation) },
  });
  const rules = { purge: [{ mutation: "updateUser", types: ["User"] }] };
  const filled = withConfigDefaults("graphql", { websocket: "inspect", ...rules, ...config });
  const phases = pluginInstance("graphql", filled, context);
  const timers = new TestClock(0);
  const cacheInstance = startResultCache({}, undefined, timers);
  const exchange = fakeExchange({
    headers: { connection: "upgrade", upgrade: "websocket", "sec-websocket-protocol": "graphql-transport-ws" },
    status: 101,
  });
  for (const each of [phases, cacheInstance]) assert.equal(await each.access?.(exchange), undefined);
  for (const each of [phases, cacheInstance]) each.responseHeaders?.(exchange);
  const { messageInspector: inspector } = exchange;
  assert.ok(inspector);
  return {
    clock,
    timers,
    recorded,
    cacheInstance,
    isObserved: Boolean(inspector.upstream),
    send: (query: string, id = "1") => inspector.inspect(message("subscribe", { query }, id)),
    fromClient: (text: string) => inspector.inspect(text),
    fromService: (text: string) => inspector.upstream?.observe(Buffer.from(text)),
    close: () => phases.log?.(exchange),
    logged: () => exchange.logFields.get("graphql.operations"),
    /** `type name result` of each operation that was counted. */
    async counted() {
      const lines = (await printMetrics(metrics.tables)).matchAll(
        /^sluice_graphql_requests_total\{.*type="(\w+)",operation="(.+)",hash=".*",result="(\w+)"\} (\d+)$/gm,
      );
      return [...lines].flatMap(([, type, name, result, count]) =>
        Array<string>(Number(count)).fill(`${type} ${name} ${result}`),
      );
    },
  };
}

/** The messages that follow an operation, from the service unless `client` is set; null: it has not ended. */
const endings: readonly (readonly [
  what: string,
  query: string,
  messages: readonly (string | { readonly client: string })[],
  result: "ok" | "error" | null,
])[] = [
  ["a result", QUERY, [next({ data: {} }), DONE], "ok"],
  ["a result of the older protocol", QUERY, [message("data", { data: {} }), DONE], "ok"],
  ["a result with errors", QUERY, [next(failedResult), DONE], "error"],
  ["a result with an empty list of errors", QUERY, [next({ data: {}, errors: [] }), DONE], "ok"],
  ["a result with errors that are null", QUERY, [next({ data: {}, errors: null }), DONE], "ok"],
  ["a result with errors that are an object", QUERY, [next({ data: {}, errors: {} }), DONE], "error"],
  ["a result that contains the words", QUERY, [next({ data: { a: '"errors":[1], "complete"' } }), DONE], "ok"],
  ["errors of the whole operation", QUERY, [message("error", [{ message: "no" }])], "error"],
  ["events", SUBSCRIPTION, [next({ data: {} }), next({ data: {} }), DONE], "ok"],
  ["an event with errors", SUBSCRIPTION, [next({ data: {} }), next(failedResult), next({ data: {} }), DONE], "error"],
  ["events whose end is to come", SUBSCRIPTION, [next({ data: {} })], null],
  ["messages for another operation", QUERY, [next(failedResult, "2"), message("complete", undefined, "2")], null],
  ["messages that are no JSON, or have other types", QUERY, ["x", "7", "[]", '{"id":1}', message("ping")], null],
  ["the end of a subscription by the client", SUBSCRIPTION, [{ client: DONE }], "ok"],
  ["the end of a subscription in the older protocol", SUBSCRIPTION, [{ client: message("stop") }], "ok"],
  ["the end of a query by the client, before its result", QUERY, [{ client: DONE }], "error"],
];

describe("an operation over a WebSocket", () => {
  for (const [what, query, messages, result] of endings)
    it(`is counted ${result === null ? "not yet" : `as ${result}`} after ${what}`, async () => {
      const { send, fromClient, fromService, counted } = await open();
      send(query);
      for (const each of messages) {
        if (typeof each === "string") fromService(each);
        else fromClient(each.client);
      }
      const [, type, name] = /^(\w+) (\w+)/.exec(query) ?? [];
      assert.deepEqual(await counted(), result === null ? [] : [`${type} ${name} ${result}`]);
    });

  it("is counted at the end of the WebSocket: as failed if a query or mutation has no result", async () => {
    const { send, fromService, close, counted } = await open();
    for (const [at, query] of [QUERY, MUTATION, SUBSCRIPTION].entries()) send(query, String(at));
    send("query Answered { a }", "answered");
    fromService(next({ data: {} }, "answered"));
    close();
    const expected = ["mutation Update error", "query Answered ok", "query Users error", "subscription Added ok"];
    assert.deepEqual((await counted()).sort(), expected);
  });

  it("ends when the client uses its id again", async () => {
    const { send, fromService, counted } = await open();
    send(SUBSCRIPTION);
    send("query Other { a }");
    fromService(next({ data: {} }));
    fromService(DONE);
    assert.deepEqual((await counted()).sort(), ["query Other ok", "subscription Added ok"]);
  });

  it("is recorded for the console with its duration, hash and failure", async () => {
    const { clock, recorded, send, fromService } = await open();
    send(QUERY);
    clock.now += 40;
    fromService(next(failedResult));
    fromService(DONE);
    const [{ exchange: _, hash = "", ...facts } = {}, ...others] = recorded;
    assert.deepEqual([facts, others], [{ type: "query", name: "Users", failed: true, duration: 40 }, []]);
    assert.match(hash, /^[0-9a-f]{12}$/);
  });

  it("is not followed beyond 1000 in progress, nor with max_response_size 0: it is counted as sent", async () => {
    const { send, counted } = await open();
    for (let id = 0; id < 1002; id++) send(SUBSCRIPTION, String(id));
    assert.deepEqual(await counted(), ["subscription Added sent", "subscription Added sent"]);
    const unread = await open({ max_response_size: 0 });
    assert.equal(unread.isObserved, false);
    unread.send(QUERY);
    assert.deepEqual(await unread.counted(), ["query Users sent"]);
  });

  it("is not followed if its id is so long that many of them would take much memory", async () => {
    const { send, counted } = await open();
    send(SUBSCRIPTION, "x".repeat(128));
    assert.deepEqual(await counted(), []);
    send(SUBSCRIPTION, "x".repeat(129));
    assert.deepEqual(await counted(), ["subscription Added sent"]);
  });

  it("is named in the log record of the WebSocket, whether it is forwarded or refused; of many operations, the first twenty", async () => {
    const { send, logged } = await open({ max_root_fields: 1 });
    assert.equal(logged(), undefined);
    send(QUERY);
    send("query Two { a b }");
    const [users, two] = [QUERY, "query Two { a b }"].map((query) => hash("sha256", query));
    const operations = [
      { type: "query", name: "Users", sha256: users, cost: 1 },
      { type: "query", name: "Two", sha256: two, cost: 2 },
    ];
    assert.deepEqual(logged(), operations);
    for (let count = 0; count < 30; count++) send(SUBSCRIPTION, String(count));
    assert.equal((logged() as readonly unknown[]).length, 20);
  });

  it("is not counted if it is refused", async () => {
    const { send, close, counted } = await open({ max_root_fields: 1 });
    send("query Two { a b }");
    close();
    assert.deepEqual(await counted(), []);
  });
});

describe("a mutation over a WebSocket", () => {
  /** Whether the result of a query has been purged by what happened since the query. */
  async function startPurging(config: object = {}) {
    const socket = await open(config);
    const ask = startRoute({ cacheInstance: socket.cacheInstance });
    await ask({ response: DATA });
    return { ...socket, isPurged: async () => (await ask({ response: DATA })) === "Refresh" };
  }

  for (const [what, isRepeated, end] of [
    ["its result", false, ({ fromService }) => fromService(next({ data: {} }))],
    [
      "a result with errors, because a part may have been executed",
      false,
      ({ fromService }) => fromService(next(failedResult)),
    ],
    ["an error", false, ({ fromService }) => fromService(message("error", []))],
    ["the end of the WebSocket before its result", true, ({ close }) => close()],
    ["its end by the client before its result", true, ({ fromClient }) => fromClient(DONE)],
  ] as readonly (readonly [string, boolean, (socket: Awaited<ReturnType<typeof open>>) => unknown])[])
    it(`purges cached results that it may have changed, with ${what}${isRepeated ? ", and again, because the service may execute it later" : ""}`, async () => {
      const socket = await startPurging();
      socket.send(MUTATION);
      assert.equal(await socket.isPurged(), false);
      end(socket);
      assert.equal(await socket.isPurged(), true);
      for (const wait of [1000, 2000, 4000]) {
        await socket.timers.advance(wait);
        assert.equal(await socket.isPurged(), isRepeated);
      }
    });

  it("purges once, and only what the rules name", async () => {
    const { send, fromService, isPurged } = await startPurging();
    send(MUTATION);
    fromService(next({ data: {} }));
    assert.equal(await isPurged(), true);
    fromService(DONE);
    assert.equal(await isPurged(), false);
    send("mutation { other }");
    fromService(next({ data: {} }));
    send(QUERY, "2");
    fromService(next({ data: {} }, "2"));
    assert.equal(await isPurged(), false);
  });

  it("purges when it is sent, and again, if its result is not read", async () => {
    const { send, timers, isPurged } = await startPurging({ max_response_size: 0 });
    send(MUTATION);
    assert.equal(await isPurged(), true);
    await timers.advance(1000);
    assert.equal(await isPurged(), true);
  });

  it("that the plugin cannot read purges the types of all rules, if it is forwarded", async () => {
    const { fromClient, fromService, isPurged } = await startPurging({ unknown_documents: "forward" });
    fromClient(message("subscribe", { documentId: "x" }));
    fromService(next({ data: {} }));
    assert.equal(await isPurged(), true);
  });
});
