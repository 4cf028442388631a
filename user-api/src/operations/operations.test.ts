import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fastify } from "fastify";
import { openProcessEvents } from "../events/events.ts";
import { arrayStore, fromGateway, postQuery, testApp } from "../testing.ts";
import { serveHealth } from "./health.ts";

const USERS = "query All { users { id name } }";

/** The value of a sample in Prometheus' text. Undefined: the text does not have the sample. */
function sampleIn(text: string, sample: string): number | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

describe("the metrics", () => {
  it("count operations by name, type and outcome, the fields that they select, and errors by code", async () => {
    const { app } = await testApp();
    for (let n = 0; n < 3; n++) await postQuery(app, { query: USERS });
    await postQuery(app, { query: '{ user(id: "x") { id } }' });
    await postQuery(app, { query: "{ nobody }" });
    const { body, headers } = await app.inject("/metrics");
    await app.close();
    assert.match(String(headers["content-type"]), /^text\/plain/);
    const expected = {
      'sluice_user_api_operations_total{operation="All",type="query",outcome="ok"}': 3,
      'sluice_user_api_operations_total{operation="",type="query",outcome="error"}': 1,
      'sluice_user_api_operation_seconds_count{type="query"}': 4,
      'sluice_user_api_fields_total{field="Query.users"}': 3,
      'sluice_user_api_fields_total{field="User.id"}': 4,
      'sluice_user_api_errors_total{code="NOT_FOUND"}': 1,
      'sluice_user_api_errors_total{code="GRAPHQL_VALIDATION_FAILED"}': 1,
      'sluice_user_api_live{kind="socket"}': 0,
      sluice_user_api_events_connected: 1,
    };
    for (const [sample, value] of Object.entries(expected)) assert.equal(sampleIn(body, sample), value, sample);
    assert.equal(sampleIn(body, 'sluice_user_api_fields_total{field="Query.nobody"}'), undefined);
  });

  it("have no label with unbounded values from clients", async () => {
    const { app } = await testApp();
    for (let n = 0; n < 150; n++) await postQuery(app, { query: `query Name${n} { users { id } }` });
    const { body } = await app.inject("/metrics");
    await app.close();
    assert.equal(body.match(/^sluice_user_api_operations_total\{/gm)?.length, 101);
    assert.equal(sampleIn(body, 'sluice_user_api_operations_total{operation="other",type="query",outcome="ok"}'), 50);
  });

  it("count an operation with a very long name as `other`, and the log contains the beginning of the name", async () => {
    const { app, logged } = await testApp();
    const name = "n".repeat(50_000);
    assert.deepEqual((await postQuery(app, { query: `query ${name} { users { id } }` })).data, { users: [] });
    const { body } = await app.inject("/metrics");
    await app.close();
    assert.equal(sampleIn(body, 'sluice_user_api_operations_total{operation="other",type="query",outcome="ok"}'), 1);
    assert.doesNotMatch(body, /nnnnnn/);
    assert.deepEqual(
      logged.flatMap(({ operation }) => (operation === undefined ? [] : [operation])),
      ["n".repeat(100)],
    );
  });

  for (const [how, headers] of [
    ["the gateway's secret", fromGateway],
    ["a forwarded address", { "x-forwarded-for": "1.2.3.4" }],
  ] as const) {
    it(`are hidden from a request with ${how}`, async () => {
      const { app } = await testApp();
      assert.equal((await app.inject({ url: "/metrics", headers })).statusCode, 404);
      await app.close();
    });
  }
});

describe("the log", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const cases = [
    ["the gateway's id and trace", { "x-request-id": "from-gateway", traceparent }, "from-gateway", true],
    [
      "a generated id instead of an invalid one, and no trace",
      { "x-request-id": "a b", traceparent: "00-x-y-01" },
      null,
      false,
    ],
    [
      "a generated id, and no trace if the trace id is all zeros",
      { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` },
      null,
      false,
    ],
    [
      "a generated id, and no trace if the version of traceparent is invalid",
      { traceparent: traceparent.replace("00-", "ff-") },
      null,
      false,
    ],
  ] as const;
  for (const [name, headers, id, traced] of cases) {
    it(`has, in each line of a request, ${name}`, async () => {
      const store = arrayStore({ users: () => Promise.reject(new Error("gone")) });
      const { app, logged } = await testApp({ store });
      await postQuery(app, { query: USERS, headers });
      await app.close();
      const lines = logged.filter(({ msg }) => msg === "a request failed" || msg === "answered");
      assert.equal(lines.length, 2);
      const [first, second] = lines;
      assert.equal(first?.requestId, second?.requestId);
      if (id !== null) assert.equal(first?.requestId, id);
      else assert.match(String(first?.requestId), /^[\da-f-]{13}-[\da-z]+$/);
      for (const { traceId, spanId } of lines) {
        const expected = traced ? ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"] : [undefined, undefined];
        assert.deepEqual([traceId, spanId], expected);
      }
    });
  }

  it("describes each answered operation in one line, and has no lines for health checks", async () => {
    const { app, logged } = await testApp();
    await postQuery(app, { query: USERS });
    await app.inject("/healthz");
    await app.close();
    const lines = logged.filter(({ msg }) => msg === "answered");
    assert.equal(lines.length, 1);
    const { status, operation, type, milliseconds, req } = lines[0] ?? {};
    assert.deepEqual([status, operation, type, typeof milliseconds], [200, "All", "query", "number"]);
    assert.deepEqual(req, { method: "POST", path: "/graphql", remoteAddress: "127.0.0.1" });
  });
});

describe("the health endpoints", () => {
  it("report the state of the events, and readiness requires the store", async () => {
    const store = arrayStore({ ping: () => Promise.reject(new Error("gone")) });
    const { app } = await testApp({ store });
    const events = { through: "process", connected: true };
    assert.deepEqual((await app.inject("/healthz")).json(), { status: "ok", events });
    const ready = await app.inject("/readyz");
    assert.deepEqual([ready.statusCode, ready.json()], [503, { status: "the store does not respond", events }]);
    await app.close();
  });

  it("answer in time when the store does not respond at all", async () => {
    const app = fastify();
    const events = openProcessEvents();
    serveHealth(app, { store: { ping: () => new Promise(() => undefined) }, events, milliseconds: 20 });
    assert.equal((await app.inject("/readyz")).statusCode, 503);
    assert.equal((await app.inject("/healthz")).statusCode, 200);
    await app.close();
  });
});
