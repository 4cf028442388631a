import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, it } from "node:test";
import type { FastifyInstance } from "fastify";
import type { FormattedExecutionResult } from "graphql";
import { type Client, createClient, type SubscribePayload } from "graphql-ws";
import { WebSocket } from "ws";
import { arrayStore, ask, codesOf, type TestOptions, testApp } from "./testing.ts";

const FOLLOW = "subscription { userCreated { name email posts { title } } }";
const create = (name: string) => ({
  query: `mutation { createUser(name: "${name}", email: "${name}@example.org") { id } }`,
});

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function listening(options: TestOptions = {}) {
  const { app, logged } = await testApp(options);
  ends.push(() => app.close());
  await app.listen({ host: "127.0.0.1", port: 0 });
  return { app, logged, url: `ws://127.0.0.1:${(app.server.address() as AddressInfo).port}/graphql` };
}

function clientOf(url: string): Client {
  const client = createClient({
    url,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => undefined,
  });
  ends.push(() => client.dispose());
  return client;
}

/** Resolves once as many subscriptions as named are under way: the server says nothing of its own to a subscriber. */
async function following(app: FastifyInstance, count: number): Promise<void> {
  const emitter = (app.graphql.pubsub as unknown as { emitter: { _matcher: { match(topic: string): unknown[] } } })
    .emitter;
  while (emitter._matcher.match("userCreated").length < count) await new Promise((next) => setImmediate(next));
}

async function firstOf(client: Client, payload: SubscribePayload): Promise<FormattedExecutionResult> {
  for await (const result of client.iterate<Record<string, unknown>, Record<string, unknown>>(payload)) return result;
  throw new Error("the subscription ended without a result");
}

/** A bare socket, for what a proper client never does. */
async function bareSocket(url: string, options: { headers?: Record<string, string>; protocol?: string } = {}) {
  const socket = new WebSocket(url, options.protocol ?? "graphql-transport-ws", { headers: options.headers });
  ends.push(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

const init = '{"type":"connection_init"}';
const subscribe = (id: string, query = FOLLOW) => JSON.stringify({ id, type: "subscribe", payload: { query } });

describe("userCreated", () => {
  it("tells every subscriber of a created user, with the fields that each selects", async () => {
    const { app, url } = await listening();
    const queries = [
      FOLLOW,
      FOLLOW,
      FOLLOW,
      "subscription { userCreated { name } }",
      "subscription { userCreated { e: email } }",
    ];
    const results = queries.map((query) => firstOf(clientOf(url), { query }));
    await following(app, queries.length);
    const { data } = await ask(app, { query: 'mutation { createUser(name: "ann", email: "ann@example.org") { id } }' });
    assert.ok(data);
    const { id } = data.createUser as { id: string };
    const whole = { name: "ann", email: "ann@example.org", posts: [{ title: `a post of ${id}` }] };
    assert.deepEqual(await Promise.all(results), [
      { data: { userCreated: whole } },
      { data: { userCreated: whole } },
      { data: { userCreated: whole } },
      { data: { userCreated: { name: "ann" } } },
      { data: { userCreated: { e: "ann@example.org" } } },
    ]);
  });

  it("tells of users in the order of their creation, and stops when the client completes", async () => {
    const { app, url } = await listening();
    const names: unknown[] = [];
    const results = clientOf(url).iterate<{ userCreated: { name: string } }>({ query: FOLLOW });
    const first = results.next();
    await following(app, 1);
    for (const name of ["a", "b", "c"]) await ask(app, create(name));
    names.push((await first).value?.data?.userCreated.name);
    for (let n = 0; n < 2; n++) names.push((await results.next()).value?.data?.userCreated.name);
    assert.deepEqual(names, ["a", "b", "c"]);
    await results.return?.();
    const before = app.graphql.pubsub as unknown as { emitter: { _matcher: { match(topic: string): unknown[] } } };
    while (before.emitter._matcher.match("userCreated").length > 0) await new Promise((next) => setImmediate(next));
  });

  it("does not tell of a user who was refused", async () => {
    const { app, url } = await listening();
    const first = firstOf(clientOf(url), { query: "subscription { userCreated { name } }" });
    await following(app, 1);
    assert.deepEqual(codesOf(await ask(app, create(" "))), ["BAD_USER_INPUT"]);
    await ask(app, create("bob"));
    assert.deepEqual(await first, { data: { userCreated: { name: "bob" } } });
  });
});

describe("a subscription that cannot run", () => {
  const cases = [
    ["a syntax error", { query: "subscription {" }, "GRAPHQL_PARSE_FAILED"],
    ["an unknown field", { query: "subscription { userCreated { age } }" }, "GRAPHQL_VALIDATION_FAILED"],
    [
      "two root fields",
      { query: "subscription { userCreated { id } b: userCreated { id } }" },
      "GRAPHQL_VALIDATION_FAILED",
    ],
    ["fields nested too deep", { query: FOLLOW }, "GRAPHQL_VALIDATION_FAILED"],
    ["too many tokens", { query: `subscription { userCreated { ${"id ".repeat(2_000)} } }` }, "GRAPHQL_PARSE_FAILED"],
    [
      "a missing variable",
      { query: "subscription ($a: Boolean!) { userCreated { id @skip(if: $a) } }" },
      "BAD_USER_INPUT",
    ],
    ["a query", { query: "{ users { id } }" }, "BAD_REQUEST"],
    [
      "an unknown operation",
      { query: "subscription A { userCreated { id } }", operationName: "B" },
      "INTERNAL_SERVER_ERROR",
    ],
  ] as const;
  for (const [name, payload, code] of cases) {
    it(`with ${name} ends with ${code}, and the socket stays`, async () => {
      const { url, app } = await listening({ limits: { depth: 2 } });
      const client = clientOf(url);
      await assert.rejects(firstOf(client, payload), (errors: unknown) => {
        assert.ok(Array.isArray(errors));
        assert.deepEqual(
          errors.map(({ extensions }) => extensions.code),
          [code],
        );
        return true;
      });
      const next = firstOf(client, { query: "subscription { userCreated { name } }" });
      await following(app, 1);
      await ask(app, create("ann"));
      assert.deepEqual(await next, { data: { userCreated: { name: "ann" } } });
    });
  }

  it("for a reason of ours is told without detail", async () => {
    const store = arrayStore({ postsOf: () => Promise.reject(new Error("secret of the database")) });
    const { app, url, logged } = await listening({ store });
    const first = firstOf(clientOf(url), { query: FOLLOW });
    await following(app, 1);
    await ask(app, create("ann"));
    const { errors } = await first;
    assert.deepEqual(
      errors?.map(({ extensions }) => extensions?.code),
      ["INTERNAL_SERVER_ERROR"],
    );
    assert.doesNotMatch(JSON.stringify(errors), /secret/);
    assert.match(JSON.stringify(logged), /secret of the database/);
  });
});

describe("a socket", () => {
  const frames = [
    ["nothing at all", [], 4408],
    ["a subscription before init", [subscribe("1")], 4401],
    ["no JSON", ["hello"], 4400],
    ["init twice", [init, init], 4429],
  ] as const;
  for (const [name, sent, code] of frames) {
    it(`that sends ${name} is closed with ${code}`, async () => {
      const { url } = await listening({ live: { initMilliseconds: 50 } });
      const socket = await bareSocket(url);
      for (const frame of sent) socket.send(frame);
      const [closed] = await once(socket, "close");
      assert.equal(closed, code);
    });
  }

  it("that uses an id twice is closed with 4409, and no subscription is left behind", async () => {
    const { app, url } = await listening();
    const socket = await bareSocket(url);
    socket.send(init);
    await once(socket, "message");
    socket.send(subscribe("1"));
    await following(app, 1);
    socket.send(subscribe("1"));
    assert.equal((await once(socket, "close"))[0], 4409);
    const { emitter } = app.graphql.pubsub as unknown as { emitter: { _matcher: { match(topic: string): unknown[] } } };
    while (emitter._matcher.match("userCreated").length > 0) await new Promise((next) => setImmediate(next));
  });

  it("that no longer answers is cut", async () => {
    const { url } = await listening({ live: { heartbeatMilliseconds: 20 } });
    const socket = new WebSocket(url, "graphql-transport-ws", { autoPong: false });
    ends.push(() => socket.terminate());
    await once(socket, "open");
    assert.equal((await once(socket, "close"))[0], 1006);
  });

  it("cannot name its consumer in the init payload", async () => {
    const { app, url } = await listening({ policy: { access: "authenticated", rules: {} } });
    const socket = await bareSocket(url);
    socket.send(JSON.stringify({ type: "connection_init", payload: { "x-consumer-id": "1" } }));
    await once(socket, "message");
    socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: create("eve") }));
    const [answer] = await once(socket, "message");
    assert.equal(JSON.parse(String(answer)).payload[0].extensions.code, "BAD_REQUEST");
    assert.deepEqual((await ask(app, { query: "{ users { id } }" })).data, { users: [] });
  });

  const refused = [
    ["another subprotocol", { protocol: "graphql-ws" }, 400],
    ["a page of another origin", { headers: { origin: "https://evil.example" } }, 403],
  ] as const;
  for (const [name, options, status] of refused) {
    it(`of ${name} is refused with ${status}`, async () => {
      const { url } = await listening();
      await assert.rejects(bareSocket(url, options), new RegExp(`Unexpected server response: ${status}`));
    });
  }

  it("is opened at /graphql only; elsewhere the request is an ordinary one", async () => {
    const { url } = await listening();
    await assert.rejects(bareSocket(url.replace("graphql", "healthz")), /Unexpected server response: 200/);
  });
});

describe("a server that drains", () => {
  it("finishes requests, closes sockets with 1001 and the store at last", async () => {
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
    const { app, url } = await listening({ store });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => bareSocket(url)));
    const closes = sockets.map((socket) => once(socket, "close"));
    const answer = fetch(`${url.replace("ws", "http")}?query={users{id}}`);
    await reading.promise;
    const closing = app.close();
    for (const close of closes) assert.deepEqual((await close).map(String), ["1001", "The server is shutting down"]);
    gate.resolve();
    assert.deepEqual(await (await answer).json(), { data: { users: [] } });
    await closing;
    assert.deepEqual(order, ["read", "closed"]);
  });

  it("cuts what does not end in time", async () => {
    const { app, url, logged } = await listening({ drainMilliseconds: 30 });
    const socket = await bareSocket(url);
    // It reads nothing any more, the closing frame neither.
    socket.pause();
    await app.close();
    assert.ok(logged.some(({ msg }) => msg === "cutting what has not ended within 30 ms"));
  });
});
