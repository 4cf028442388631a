/** One client's share of the resources that all clients use. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { arrayStore, fromGateway, postQuery } from "../testing.ts";
import { makeClientQuotas } from "./client-quota.ts";
import {
  bareSocket,
  connectionInit,
  createUserOperation,
  nextMessage,
  openAcknowledgedSocket,
  runCleanUps,
  SUBSCRIBE_NAMES,
  SUBSCRIBE_USERS,
  startListening,
  subscribe,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

const limits = { clientConnections: 2, clientBytes: 100 };

/** Returns the value, which must not be null. */
function given<Value>(value: Value | null): Value {
  assert.ok(value !== null);
  return value;
}

describe("the quota of a client", () => {
  it("limits the number of open connections", () => {
    const enter = makeClientQuotas(limits);
    const first = given(enter("a"));
    given(enter("a"));
    assert.equal(enter("a"), null);
    given(enter("b"));
    first.leave();
    first.leave();
    given(enter("a"));
    assert.equal(enter("a"), null);
  });

  it("allows any number of connections when no limit is set", () => {
    const enter = makeClientQuotas({ ...limits, clientConnections: 0 });
    for (let n = 0; n < 100; n++) given(enter("a"));
  });

  it("limits the bytes of all connections together, until some are released", () => {
    const enter = makeClientQuotas(limits);
    const [one, other] = [given(enter("a")), given(enter("a"))];
    const back = given(one.reserve(60));
    assert.equal(other.reserve(41), null);
    given(other.reserve(40));
    given(given(enter("b")).reserve(100));
    back();
    back();
    given(one.reserve(60));
    assert.equal(one.reserve(1), null);
  });

  it("counts shared memory of several operations only once, until the last of them has ended", () => {
    const enter = makeClientQuotas(limits);
    const quota = given(enter("a"));
    const ends = [given(quota.reserve(90, "x")), given(quota.reserve(90, "x"))];
    assert.equal(quota.reserve(90, "y"), null);
    ends[0]?.();
    ends[0]?.();
    assert.equal(quota.reserve(90, "y"), null);
    ends[1]?.();
    given(quota.reserve(90, "y"));
  });
});

describe("a client", () => {
  /** A subscription with a comment of this many bytes. */
  const long = (bytes: number) => `${SUBSCRIBE_NAMES} #${"x".repeat(bytes)}`;

  it("may have a limited number of sockets and streams, independently of other clients", async () => {
    const { app, url, http } = await startListening({ subscriptionLimits: { clientConnections: 2 } });
    const socket = await bareSocket(url);
    const headers = { accept: "text/event-stream" };
    const stream = () => fetch(`${http}?query=${encodeURIComponent(SUBSCRIBE_USERS)}`, { headers });
    const first = await stream();
    const refused = await stream();
    assert.equal(refused.status, 503);
    const { errors } = (await refused.json()) as { errors: { extensions: object }[] };
    assert.deepEqual(errors[0]?.extensions, { code: "UNAVAILABLE", limit: "clientConnections", maximum: 2 });
    const closed = await once(await bareSocket(url), "close");
    assert.deepEqual(closed.map(String), ["1013", "This client has its maximum number of connections"]);
    await openAcknowledgedSocket(url, { headers: fromGateway });
    await first.body?.cancel();
    socket.terminate();
    await waitUntil(() => app.subscriptions.counts().streams === 0 && app.subscriptions.counts().sockets === 1);
    await openAcknowledgedSocket(url);
    assert.equal((await stream()).status, 200);
  });

  it("may use a limited number of bytes for its operations, and gets an error beyond that", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { clientBytes: 50_000 } });
    const [one, other] = [await openAcknowledgedSocket(url), await openAcknowledgedSocket(url)];
    one.send(subscribe("1", long(20_000)));
    await waitForSubscriptions(app, 1);
    const message = nextMessage(other);
    other.send(subscribe("1", long(30_000)));
    const { id, type, payload } = await message;
    assert.deepEqual([id, type], ["1", "error"]);
    assert.deepEqual((payload as { extensions: unknown }[])[0]?.extensions, {
      code: "LIMIT_EXCEEDED",
      limit: "clientBytes",
      maximum: 50_000,
    });
    const otherClient = await openAcknowledgedSocket(url, { headers: fromGateway });
    otherClient.send(subscribe("1", long(30_000)));
    await waitForSubscriptions(app, 2);
    // Long ids are kept in memory too, and count.
    const refused = nextMessage(other);
    other.send(subscribe("2".repeat(30_000)));
    assert.equal((await refused).type, "error");
    one.send('{"type":"complete","id":"1"}');
    await waitForSubscriptions(app, 1);
    other.send(subscribe("1", long(30_000)));
    await waitForSubscriptions(app, 2);
  });

  it("may use the bytes of an operation again when it has failed or completed, or when its socket is gone", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { clientBytes: 50_000 } });
    const socket = await openAcknowledgedSocket(url);
    const ends: string[] = [];
    socket.on("message", (data) => {
      const { type, payload } = JSON.parse(String(data));
      if (type !== "next") ends.push(payload?.[0].extensions.code ?? type);
    });
    for (const query of [`{ nobody } #${"x".repeat(30_000)}`, `{ users { id } } #${"x".repeat(30_000)}`]) {
      for (const id of ["1", "2"]) {
        const count = ends.length;
        socket.send(subscribe(id, query));
        await waitUntil(() => ends.length > count);
      }
    }
    assert.deepEqual(ends, ["GRAPHQL_VALIDATION_FAILED", "GRAPHQL_VALIDATION_FAILED", "complete", "complete"]);
    socket.send(subscribe("4", long(30_000)));
    await waitForSubscriptions(app, 1);
    socket.terminate();
    await waitForSubscriptions(app, 0);
    const next = await openAcknowledgedSocket(url);
    next.send(subscribe("1", long(30_000)));
    await waitForSubscriptions(app, 1);
  });

  it("is charged once for the text and the variables of equal subscriptions", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { clientBytes: 100_000 } });
    const socket = await openAcknowledgedSocket(url);
    for (let n = 0; n < 20; n++) {
      socket.send(subscribe(`${n}`, long(30_000)));
      await waitForSubscriptions(app, n + 1);
    }
  });

  it("is charged once for a document that many subscriptions use, and separately for each other document", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { clientBytes: 20_000 } });
    const socket = await openAcknowledgedSocket(url);
    // FOLLOW_NAMES has 9 tokens; counted once per subscription, the document would exceed the limit.
    for (let n = 0; n < 50; n++) socket.send(subscribe(`${n}`, SUBSCRIBE_NAMES));
    await waitForSubscriptions(app, 50);
    const refused: unknown[] = [];
    socket.on("message", (data) => refused.push(JSON.parse(String(data)).payload[0].extensions.limit));
    for (let n = 50; n < 60; n++) socket.send(subscribe(`${n}`, `subscription { userCreated { a${n}: name } }`));
    await waitUntil(() => app.subscriptions.counts().subscriptions + refused.length === 60);
    assert.deepEqual(new Set(refused), new Set(["clientBytes"]));
  });
});

describe("undeclared variables", () => {
  it("do not prevent otherwise equal subscriptions from sharing one execution", async () => {
    let reads = 0;
    const store = arrayStore({
      async postsOf(ids) {
        reads += 1;
        return ids.map(() => []);
      },
    });
    const { app, url } = await startListening({ store });
    const socket = await bareSocket(url);
    socket.send(connectionInit);
    await nextMessage(socket);
    const query = "subscription ($a: Boolean!) { userCreated { name posts { title } email @include(if: $a) } }";
    for (const [id, variables] of [{ a: false }, { a: false, b: "x" }, { b: [1], a: false }].entries()) {
      socket.send(JSON.stringify({ id: `${id}`, type: "subscribe", payload: { query, variables } }));
    }
    await waitForSubscriptions(app, 3);
    const received: unknown[] = [];
    socket.on("message", (data) => received.push(JSON.parse(String(data)).payload));
    await postQuery(app, createUserOperation("ann"));
    await waitUntil(() => received.length === 3);
    for (const payload of received) assert.deepEqual(payload, { data: { userCreated: { name: "ann", posts: [] } } });
    assert.equal(reads, 1);
  });
});
