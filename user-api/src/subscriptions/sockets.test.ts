import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { arrayStore, fromGateway, postQuery } from "../testing.ts";
import {
  bareSocket,
  connectionInit,
  createUserOperation,
  nextMessage,
  openAcknowledgedSocket,
  rawSocket,
  runCleanUps,
  SUBSCRIBE_NAMES,
  startListening,
  subscribe,
  type TestSocketOptions,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

describe("a socket", () => {
  const faults: readonly (readonly [string, readonly (string | Buffer)[], number])[] = [
    ["no message", [], 4408],
    ["pings only", ['{"type":"ping"}'], 4408],
    ["a subscription before init", [subscribe("1")], 4401],
    ["text that is not JSON", [connectionInit, "hello"], 4400],
    ["a binary frame", [connectionInit, Buffer.from('{"type":"ping"}')], 4400],
    ["a message that only servers send", [connectionInit, '{"type":"connection_ack"}'], 4400],
    ["init twice", [connectionInit, connectionInit], 4429],
    ["a duplicate id", [connectionInit, subscribe("1"), subscribe("1")], 4409],
    ["a long duplicate id", [connectionInit, subscribe("🐙".repeat(200)), subscribe("🐙".repeat(200))], 4409],
    ["a frame that is too large", [connectionInit, subscribe("1", " ".repeat(200_000))], 1009],
  ];
  for (const [name, sent, code] of faults) {
    it(`that sends ${name} is closed with ${code}, and the next socket is served`, async () => {
      // The next socket must send its init in time, on a busy machine too.
      const { app, url } = await startListening(code === 4408 ? { subscriptionLimits: { initMilliseconds: 500 } } : {});
      const socket = await bareSocket(url);
      for (const frame of sent) socket.send(frame);
      const [closed] = await once(socket, "close");
      assert.equal(closed, code);
      await waitForSubscriptions(app, 0);
      const next = await openAcknowledgedSocket(url);
      next.send(subscribe("1", "{ users { name } }"));
      assert.deepEqual(await nextMessage(next), { id: "1", type: "next", payload: { data: { users: [] } } });
    });
  }

  const frames: readonly (readonly [string, readonly number[], number])[] = [
    ["text that is not UTF-8", [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28], 1007],
    ["a frame without a mask", [0x81, 0x02, 0x7b, 0x7d], 1002],
    ["a reserved opcode", [0x83, 0x80, 0, 0, 0, 0], 1002],
    ["the end of a message that was not started", [0x80, 0x80, 0, 0, 0, 0], 1002],
    ["a long ping", [0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0], 1002],
  ];
  for (const [name, bytes, code] of frames) {
    it(`that sends ${name} is closed with ${code}`, async () => {
      const { port } = await startListening();
      const { raw, rest } = await rawSocket(port);
      raw.write(Buffer.from(bytes));
      const chunks: Buffer[] = [rest];
      for await (const chunk of raw) chunks.push(chunk);
      const answer = Buffer.concat(chunks);
      assert.deepEqual([answer[0], answer.readUInt16BE(2)], [0x88, code]);
    });
  }

  it("that reuses the id of an operation right after completing the operation receives results of the new one only", async () => {
    const { app, url } = await startListening();
    const socket = await openAcknowledgedSocket(url);
    const messages: unknown[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data))));
    socket.send(subscribe("1", "subscription { userCreated { email } }"));
    await waitForSubscriptions(app, 1);
    socket.send('{"type":"complete","id":"1"}');
    socket.send(subscribe("1", SUBSCRIBE_NAMES));
    socket.send('{"type":"ping"}');
    await waitUntil(() => messages.length === 1);
    await waitForSubscriptions(app, 1);
    await postQuery(app, createUserOperation("ann"));
    await postQuery(app, createUserOperation("bob"));
    await waitUntil(() => messages.length === 3);
    assert.deepEqual(messages, [
      { type: "pong" },
      { id: "1", type: "next", payload: { data: { userCreated: { name: "ann" } } } },
      { id: "1", type: "next", payload: { data: { userCreated: { name: "bob" } } } },
    ]);
  });

  it("that no longer answers pings is closed, and its subscriptions end", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { heartbeatMilliseconds: 50 } });
    const socket = await openAcknowledgedSocket(url, { autoPong: false });
    socket.send(subscribe("1"));
    await waitForSubscriptions(app, 1);
    assert.equal((await once(socket, "close"))[0], 1006);
    await waitForSubscriptions(app, 0);
    assert.equal(app.subscriptions.counts().sockets, 0);
  });

  it("that answers pings stays open, and so does its subscription", async () => {
    // The socket must answer within an interval, on a busy machine too.
    const { app, url } = await startListening({ subscriptionLimits: { heartbeatMilliseconds: 300 } });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1"));
    await waitForSubscriptions(app, 1);
    // Without an answer to the first ping, the second is not sent.
    for (let n = 0; n < 2; n++) await once(socket, "ping");
    assert.equal(app.subscriptions.counts().subscriptions, 1);
  });

  it("that answers a ping while the server's event loop is blocked stays open", async () => {
    const { url } = await startListening({ subscriptionLimits: { heartbeatMilliseconds: 300 } });
    const socket = await openAcknowledgedSocket(url);
    const closed = once(socket, "close").then(() => "closed");
    // The answer has been sent when the event is emitted.
    await once(socket, "ping");
    for (const end = performance.now() + 350; performance.now() < end; );
    assert.notEqual(await Promise.race([once(socket, "ping"), closed]), "closed");
  });

  it("that is lost ends its subscriptions", async () => {
    const { app, url } = await startListening();
    const socket = await openAcknowledgedSocket(url);
    for (const id of ["1", "2", "3"]) socket.send(subscribe(id));
    await waitForSubscriptions(app, 3);
    socket.terminate();
    await waitForSubscriptions(app, 0);
  });

  it("may have as many operations as the limit allows, and no further operation", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { operations: 2 } });
    const socket = await openAcknowledgedSocket(url);
    for (const id of ["1", "2", "3"]) socket.send(subscribe(id));
    const { id, type, payload } = await nextMessage(socket);
    assert.deepEqual([id, type], ["3", "error"]);
    assert.deepEqual((payload as { extensions: unknown }[])[0]?.extensions, {
      code: "LIMIT_EXCEEDED",
      limit: "operations",
      maximum: 2,
    });
    assert.equal(app.subscriptions.counts().subscriptions, 2);
  });

  it("is closed with 1013 at the maximum number of connections", async () => {
    const { app, url } = await startListening({ subscriptionLimits: { connections: 2 } });
    const first = await bareSocket(url);
    await bareSocket(url);
    assert.equal((await once(await bareSocket(url), "close"))[0], 1013);
    first.terminate();
    await waitUntil(() => app.subscriptions.counts().sockets === 1);
    await openAcknowledgedSocket(url);
  });

  it("gets its consumer from the gateway's headers, and not from a payload of init without the secret", async () => {
    const { url } = await startListening({ policy: { access: "authenticated", rules: {} } });
    const consumer = await openAcknowledgedSocket(url, { headers: fromGateway });
    consumer.send(subscribe("1", createUserOperation("ann").query));
    assert.equal((await nextMessage(consumer)).type, "next");

    const nobody = await bareSocket(url);
    nobody.send(JSON.stringify({ type: "connection_init", payload: { "X-Consumer-ID": "1" } }));
    assert.deepEqual((await once(nobody, "close")).map(String), ["4403", "Forbidden"]);
  });

  it("accepts a payload of init that claims no identity", async () => {
    const { url } = await startListening();
    const socket = await bareSocket(url);
    socket.send(JSON.stringify({ type: "connection_init", payload: { token: "x" } }));
    assert.deepEqual(await nextMessage(socket), { type: "connection_ack" });
  });

  const refused: readonly (readonly [string, TestSocketOptions, number])[] = [
    ["another subprotocol", { protocol: "graphql-ws" }, 400],
    ["a page of another origin", { headers: { origin: "https://evil.example" } }, 403],
    [
      "a page of another origin whose browser has named the consumer",
      { headers: { ...fromGateway, origin: "https://evil.example" } },
      403,
    ],
    ["a client with a wrong secret", { headers: { ...fromGateway, "x-gateway-secret": "x" } }, 401],
  ];
  for (const [name, options, status] of refused) {
    it(`of ${name} is refused with ${status}`, async () => {
      const { url } = await startListening();
      await assert.rejects(bareSocket(url, options), new RegExp(`Unexpected server response: ${status}`));
    });
  }

  it("is opened at /graphql only; elsewhere an upgrade is answered like an ordinary request", async () => {
    const { url } = await startListening();
    await assert.rejects(bareSocket(url.replace("graphql", "healthz")), /Unexpected server response: 200/);
  });
});

describe("a client that reads its events too slowly", () => {
  const long = "x".repeat(100_000);
  const store = () => arrayStore({ postsOf: async (ids) => ids.map(() => [{ id: "post", title: long }]) });

  async function slowSocket(subscriptionLimits: object) {
    const { app, url } = await startListening({ subscriptionLimits, store: store() });
    const socket = await openAcknowledgedSocket(url);
    socket.send(subscribe("1"));
    socket.send(subscribe("2", SUBSCRIBE_NAMES));
    await waitForSubscriptions(app, 2);
    socket.pause();
    const messages: { id: string; type: string; payload: unknown }[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data))));
    let created = 0;
    while (app.subscriptions.counts().slow === 0) {
      created += 1;
      assert.ok(created < 500, "the data that waits for one client is not bounded");
      await postQuery(app, createUserOperation(`user${created}`));
    }
    return { app, socket, messages };
  }

  it("loses the operation that exceeds its limit of buffered bytes, and keeps the other operations", async () => {
    const { app, socket, messages } = await slowSocket({ operationBytes: 300_000, connectionBytes: 3_000_000 });
    assert.deepEqual(app.subscriptions.counts(), { sockets: 1, streams: 0, subscriptions: 1, slow: 1 });
    socket.resume();
    await waitUntil(() => messages.some(({ type }) => type === "error"));
    const { id, payload } = messages.find(({ type }) => type === "error") ?? {};
    assert.equal(id, "1");
    assert.deepEqual((payload as { extensions: unknown }[])[0]?.extensions, { code: "SLOW_CONSUMER" });
    await postQuery(app, createUserOperation("after"));
    await waitUntil(() => messages.at(-1)?.id === "2" && JSON.stringify(messages.at(-1)).includes("after"));
  });

  it("loses its socket, with 1013, when the socket exceeds its limit of buffered bytes", async () => {
    const { app, socket } = await slowSocket({ operationBytes: 3_000_000, connectionBytes: 300_000 });
    assert.equal(app.subscriptions.counts().subscriptions, 0);
    socket.resume();
    assert.deepEqual((await once(socket, "close")).map(String), ["1013", "This client reads its events too slowly"]);
  });

  it("does not get an unlimited number of pongs", async () => {
    const { port } = await startListening({ subscriptionLimits: { connectionBytes: 1_000 } });
    const { raw } = await rawSocket(port);
    raw.pause();
    // 125 bytes of payload, masked by zeros.
    const ping = Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125)]);
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
    for (let n = 0; n < 300; n++) {
      if (!raw.write(many)) await once(raw, "drain");
    }
    raw.end(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
    let pongs = 0;
    for await (const chunk of raw) pongs += chunk.length;
    // All pongs would be 38 MB; the system's buffers hold a few MB.
    assert.ok(pongs < 19_000_000, `${pongs} bytes of pongs`);
  });
});
