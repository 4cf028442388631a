/** Event streams of clients that do not read, that have half-closed their connection, or that have disconnected. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { arrayStore, postQuery } from "../testing.ts";
import { openEventStream } from "./event-stream.ts";
import {
  createUserOperation,
  rawConnection,
  runAtEnd,
  runCleanUps,
  SUBSCRIBE_NAMES,
  SUBSCRIBE_USERS,
  startListening,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

/** Longer than the text that the operating system can buffer for a connection that its client does not read. */
const HUGE = "x".repeat(32 * 1024 * 1024);
const hugeStore = () => arrayStore({ users: async () => [{ id: "1", name: HUGE, email: "a@example.org" }] });
const subscriptionLimits = { heartbeatMilliseconds: 50 };

const requestFor = (query: string): string => {
  const body = JSON.stringify({ query });
  return [
    "POST /graphql HTTP/1.1",
    "host: 127.0.0.1",
    "accept: text/event-stream",
    "content-type: application/json",
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
};

/** A client that sends queries and reads nothing. */
async function deaf(port: number, ...queries: readonly string[]): Promise<Socket> {
  const raw = await rawConnection(port);
  raw.pause();
  raw.write(queries.map(requestFor).join(""));
  return raw;
}

/** Checks that the server still answers. */
async function answers(http: string): Promise<void> {
  assert.equal((await fetch(`${http}?query={__typename}`)).status, 200);
}

describe("an event stream that its client does not read", () => {
  for (const [bound, connectionBytes] of [
    ["is exceeded", 1024 * 1024],
    ["is not exceeded", 2 * HUGE.length],
  ] as const) {
    it(`is closed once it has ended, if the limit of buffered bytes ${bound}`, {
      timeout: 20_000,
    }, async () => {
      const { app, port, http, logged } = await startListening({
        store: hugeStore(),
        subscriptionLimits: { ...subscriptionLimits, connectionBytes },
      });
      // This client reads, so its stream stays open.
      const reader = await deaf(port, SUBSCRIBE_NAMES);
      reader.resume();
      await deaf(port, "{ users { name } }");
      await waitUntil(() => app.subscriptions.counts().streams === 2);
      await waitUntil(() => app.subscriptions.counts().streams === 1);
      assert.equal(reader.destroyed, false);
      await answers(http);
      assert.deepEqual(
        logged.filter(({ level }) => Number(level) > 30),
        [],
      );
    });
  }

  it("is also closed when it has ended because its client is slow", { timeout: 20_000 }, async () => {
    const store = arrayStore({ postsOf: async (ids) => ids.map(() => [{ id: "post", title: HUGE }]) });
    const { app, port, http } = await startListening({ store, subscriptionLimits });
    await deaf(port, SUBSCRIBE_USERS);
    await waitForSubscriptions(app, 1);
    for (const name of ["ann", "bob"]) await postQuery(app, createUserOperation(name));
    await waitUntil(() => app.subscriptions.counts().slow === 1);
    assert.equal(app.subscriptions.counts().subscriptions, 0);
    await waitUntil(() => app.subscriptions.counts().streams === 0);
    await answers(http);
  });
});

describe("an event stream whose client reads slowly", () => {
  it("stays open until it is read to its end", { timeout: 20_000 }, async () => {
    const { app, port } = await startListening({
      store: hugeStore(),
      subscriptionLimits: { heartbeatMilliseconds: 100 },
    });
    // The heartbeats of this stream serve as the clock.
    const clock = await deaf(port, SUBSCRIBE_NAMES);
    const raw = await deaf(port, "{ users { name } }");
    let ticks = 0;
    let read = 0;
    let tail = "";
    clock.on("data", () => {
      ticks += 1;
      raw.resume();
    });
    raw.on("data", (chunk: Buffer) => {
      read += chunk.length;
      tail = (tail + chunk.toString("latin1")).slice(-40);
      // The client reads only a little at each tick, for longer than an unread stream may stay open.
      if (ticks < 8 && read > ticks * 2 * 1024 * 1024) raw.pause();
    });
    clock.resume();
    await waitUntil(() => tail.endsWith("event: complete\ndata: \n\n\r\n0\r\n\r\n") || raw.destroyed);
    assert.equal(raw.destroyed, false, `cut after ${read} bytes`);
    assert.ok(ticks >= 8);
    await waitUntil(() => app.subscriptions.counts().streams === 1);
  });
});

describe("an event stream whose client has closed the connection or its own side of it", () => {
  it("ends together with its subscription", { timeout: 20_000 }, async () => {
    const { app, port, http } = await startListening({ subscriptionLimits });
    const raw = await deaf(port, SUBSCRIBE_NAMES);
    await waitForSubscriptions(app, 1);
    raw.end();
    await waitForSubscriptions(app, 0);
    await waitUntil(() => app.subscriptions.counts().streams === 0);
    await answers(http);
  });

  it("ends although many bytes are unread", { timeout: 20_000 }, async () => {
    const store = arrayStore({ postsOf: async (ids) => ids.map(() => [{ id: "post", title: HUGE }]) });
    const { app, port, http } = await startListening({ store, subscriptionLimits });
    const raw = await deaf(port, SUBSCRIBE_USERS);
    await waitForSubscriptions(app, 1);
    await postQuery(app, createUserOperation("ann"));
    raw.end();
    await waitForSubscriptions(app, 0);
    await waitUntil(() => app.subscriptions.counts().streams === 0);
    await answers(http);
  });

  it("ends even if it waits behind another stream of the same connection", { timeout: 20_000 }, async () => {
    const { app, port } = await startListening({ subscriptionLimits });
    const raw = await deaf(port, SUBSCRIBE_NAMES, SUBSCRIBE_NAMES);
    await waitForSubscriptions(app, 2);
    raw.destroy();
    await waitForSubscriptions(app, 0);
    assert.equal(app.subscriptions.counts().streams, 0);
  });

  it("is not opened when its client has already disconnected", { timeout: 20_000 }, async () => {
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => void responses.push(response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    runAtEnd(() => server.close());
    const raw = await deaf((server.address() as AddressInfo).port, SUBSCRIBE_USERS);
    await waitUntil(() => responses.length === 1);
    raw.destroy();
    const [response] = responses;
    assert.ok(response);
    await once(response, "close");
    const stream = openEventStream(response, {
      limits: { connectionBytes: 1_000, heartbeatMilliseconds: 20 },
      slow: () => undefined,
      begin: () => assert.fail("the operation began although its client has disconnected"),
      ended: () => assert.fail("the stream ended although it was never opened"),
    });
    assert.equal(stream, null);
  });
});
