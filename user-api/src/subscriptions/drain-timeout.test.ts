/** A server that drains ends within its time limit, whatever its clients do. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterEach, describe, it } from "node:test";
import { arrayStore } from "../testing.ts";
import {
  CLOSE_FRAME,
  connectionInit,
  createUserOperation,
  openAcknowledgedSocket,
  rawConnection,
  rawSocket,
  runCleanUps,
  startListening,
  subscribe,
  textFrame,
  upgradeRequest,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

/** A store that does not answer queries for users until `answer` is called. */
function silentStore() {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<readonly []>();
  const added: string[] = [];
  const store = arrayStore({
    users() {
      asked.resolve();
      return gate.promise;
    },
    async add({ name }) {
      added.push(name);
      return true;
    },
  });
  return { store, asked: asked.promise, answer: () => gate.resolve([]), added };
}

describe("the shutdown of a server", () => {
  it("does not wait for an upgrade that arrives during the drain: it is refused, and its connection ends", {
    timeout: 20_000,
  }, async () => {
    const { store, asked, answer } = silentStore();
    const { app, port, url } = await startListening({ store, drainMilliseconds: 60_000 });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1", "{ users { name } }"));
    await asked;
    const raw = await rawConnection(port);
    const closing = app.close();
    raw.write(upgradeRequest(port));
    assert.match(await text(raw), /^HTTP\/1.1 503 /);
    answer();
    await closing;
  });

  it("closes the connection of a refused upgrade whose client does not disconnect", { timeout: 20_000 }, async () => {
    const { store, asked } = silentStore();
    const { app, port, url } = await startListening({ store, drainMilliseconds: 100 });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1", "{ users { name } }"));
    await asked;
    const raw = await rawConnection(port);
    raw.pause();
    const closing = app.close();
    raw.write(upgradeRequest(port));
    await closing;
  });

  it("closes sockets beyond the maximum number, even if they do not disconnect", { timeout: 20_000 }, async () => {
    const { app, port } = await startListening({ subscriptionLimits: { connections: 0 }, drainMilliseconds: 100 });
    const { raw } = await rawSocket(port);
    raw.pause();
    await app.close();
  });

  it("does not wait longer than the time limit for a store that does not answer the operation of a socket", {
    timeout: 20_000,
  }, async () => {
    const { store, asked } = silentStore();
    const { app, url } = await startListening({ store, drainMilliseconds: 100 });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1", "{ users { name } }"));
    await asked;
    const began = performance.now();
    await app.close();
    assert.ok(performance.now() - began < 5_000);
  });

  it("starts no more operations for connected clients", { timeout: 20_000 }, async () => {
    const { store, asked, answer, added } = silentStore();
    const { app, url } = await startListening({ store, drainMilliseconds: 60_000 });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1", "{ users { name } }"));
    await asked;
    const closing = app.close();
    socket.send(subscribe("2", createUserOperation("late").query));
    socket.send('{"type":"ping"}');
    await once(socket, "message");
    answer();
    assert.equal((await once(socket, "close"))[0], 1001);
    await closing;
    assert.deepEqual(added, []);
  });
});

describe("a socket that the server has closed", () => {
  const mutation = [textFrame(connectionInit), textFrame(subscribe("1", createUserOperation("late").query))];

  it("executes nothing that arrives after the close with 4408", { timeout: 20_000 }, async () => {
    const { store, added } = silentStore();
    const { app, port } = await startListening({ store, subscriptionLimits: { initMilliseconds: 30 } });
    const { raw, rest } = await rawSocket(port);
    const closed = rest.length > 0 ? rest : (await once(raw, "data"))[0];
    assert.deepEqual([closed[0], closed.readUInt16BE(2)], [0x88, 4408]);
    raw.write(Buffer.concat([...mutation, CLOSE_FRAME]));
    await waitUntil(() => app.subscriptions.counts().sockets === 0);
    assert.deepEqual(added, []);
  });

  it("executes nothing that arrives after the close with 1001, and has no subscriptions left", {
    timeout: 20_000,
  }, async () => {
    const { store, added } = silentStore();
    const { app, port } = await startListening({ store });
    const { raw } = await rawSocket(port);
    raw.write(Buffer.concat([textFrame(connectionInit), textFrame(subscribe("2"))]));
    await waitForSubscriptions(app, 1);
    const ended = new Promise<void>((resolve) => {
      raw.on("data", (chunk: Buffer) => {
        if (chunk.includes("The server is shutting down")) resolve();
      });
    });
    const closing = app.close();
    await ended;
    assert.equal(app.subscriptions.counts().subscriptions, 0);
    raw.write(Buffer.concat([textFrame(subscribe("1", createUserOperation("late").query)), CLOSE_FRAME]));
    await closing;
    assert.deepEqual(added, []);
  });
});
