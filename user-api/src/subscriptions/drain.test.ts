import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { arrayStore, postQuery } from "../testing.ts";
import {
  bareSocket,
  createUserOperation,
  nextMessage,
  openAcknowledgedSocket,
  runCleanUps,
  SUBSCRIBE_NAMES,
  SUBSCRIBE_USERS,
  startListening,
  subscribe,
  subscriptionClients,
  waitForSubscriptions,
} from "./testing.ts";

afterEach(runCleanUps);

describe("a server that drains", () => {
  it("finishes requests, closes sockets with 1001, and closes the store last", async () => {
    const order: string[] = [];
    const reading = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const store = arrayStore({
      async users() {
        reading.resolve();
        await gate.promise;
        order.push("read");
        return [];
      },
      async close() {
        order.push("closed");
      },
    });
    const { app, url, http } = await startListening({ store });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => bareSocket(url)));
    const closes = sockets.map((socket) => once(socket, "close"));
    const answer = fetch(`${http}?query={users{id}}`);
    await reading.promise;
    const closing = app.close();
    for (const close of closes) assert.deepEqual((await close).map(String), ["1001", "The server is shutting down"]);
    gate.resolve();
    assert.deepEqual(await (await answer).json(), { data: { users: [] } });
    await closing;
    assert.deepEqual(order, ["read", "closed"]);
  });

  it("finishes operations that sockets have requested", async () => {
    const reading = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const store = arrayStore({
      async users() {
        reading.resolve();
        await gate.promise;
        return [];
      },
    });
    const { app, url } = await startListening({ store });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1", "{ users { name } }"));
    await reading.promise;
    const closing = app.close();
    const message = nextMessage(socket);
    gate.resolve();
    assert.deepEqual(await message, { id: "1", type: "next", payload: { data: { users: [] } } });
    assert.equal((await once(socket, "close"))[0], 1001);
    await closing;
  });

  for (const [what, answers] of [
    ["delivers a user that a running request creates, and then closes sockets with 1001", true],
    ["closes sockets with 1001 even when the store delays a running request that creates a user", false],
  ] as const) {
    it(what, async () => {
      const adding = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<boolean>();
      const store = arrayStore({
        add() {
          adding.resolve();
          return gate.promise;
        },
      });
      const { app, url, http } = await startListening({ store, drainMilliseconds: answers ? 60_000 : 100 });
      const socket = await openAcknowledgedSocket(url);
      socket.send(subscribe("1", SUBSCRIBE_NAMES));
      await waitForSubscriptions(app, 1);
      const received: unknown[] = [];
      socket.on("message", (data) => received.push(JSON.parse(String(data)).payload));
      const headers = { "content-type": "application/json" };
      const answer = fetch(http, { method: "POST", headers, body: JSON.stringify(createUserOperation("ann")) }).then(
        ({ status }) => status,
        () => "cut",
      );
      await adding.promise;
      const closed = once(socket, "close");
      const closing = app.close();
      if (answers) gate.resolve(true);
      assert.equal((await closed)[0], 1001);
      assert.deepEqual(received, answers ? [{ data: { userCreated: { name: "ann" } } }] : []);
      assert.equal(await answer, answers ? 200 : "cut");
      await closing;
    });
  }

  it("delivers every user created before the drain to sockets and streams, and then ends the sockets and streams", async () => {
    const reads: PromiseWithResolvers<void>[] = [];
    const store = arrayStore({
      async postsOf(ids) {
        const gate = Promise.withResolvers<void>();
        reads.push(gate);
        await gate.promise;
        return ids.map(() => []);
      },
    });
    const { app, url, http } = await startListening({ store });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1"));
    const stream = await fetch(http, {
      method: "POST",
      headers: { accept: "text/event-stream", "content-type": "application/json" },
      // The text differs from the socket's, so that the operation is executed on its own.
      body: JSON.stringify({ query: SUBSCRIBE_USERS.replace("userCreated", "u: userCreated") }),
    });
    await waitForSubscriptions(app, 2);
    const names: string[] = [];
    socket.on("message", (data) => names.push(JSON.parse(String(data)).payload.data.userCreated.name));
    for (const name of ["ann", "bob"]) await postQuery(app, createUserOperation(name));
    const closed = once(socket, "close");
    const closing = app.close();
    // Each of the two subscriptions reads the posts of the two users one after the other.
    for (let read = 0; read < 4; read++) {
      while (reads[read] === undefined) await new Promise((next) => setImmediate(next));
      reads[read]?.resolve();
    }
    assert.equal((await closed)[0], 1001);
    assert.deepEqual(names, ["ann", "bob"]);
    const text = await stream.text();
    assert.deepEqual(
      [...text.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name),
      ["ann", "bob"],
    );
    assert.doesNotMatch(text, /complete/, "a client that receives complete does not subscribe again");
    await closing;
  });

  for (const client of subscriptionClients) {
    it(`ends the subscription of the client ${client.name} with an error, so that it does not look complete`, async () => {
      const { app, port } = await startListening();
      const next = client.iterate(port, { query: SUBSCRIBE_USERS }).next();
      await waitForSubscriptions(app, 1);
      await Promise.all([assert.rejects(next), app.close()]);
    });
  }

  it("closes connections that do not end in time", async () => {
    const { app, url, logged } = await startListening({ drainMilliseconds: 30 });
    const socket = await bareSocket(url);
    // The client reads nothing from now on, not even the close frame.
    socket.pause();
    await app.close();
    assert.ok(logged.some(({ msg }) => msg === "closing connections that did not end within 30 ms"));
  });

  it("closes connections that wait for a store that does not answer", async () => {
    const store = arrayStore({ postsOf: () => new Promise(() => undefined) });
    const { app, url } = await startListening({ store, drainMilliseconds: 30 });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1"));
    await waitForSubscriptions(app, 1);
    void postQuery(app, createUserOperation("ann"));
    const closed = once(socket, "close");
    await app.close();
    await closed;
  });
});
