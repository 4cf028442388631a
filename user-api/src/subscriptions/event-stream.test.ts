import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { arrayStore, fromGateway, postQuery } from "../testing.ts";
import {
  createUserOperation,
  runAtEnd,
  runCleanUps,
  SUBSCRIBE_NAMES,
  SUBSCRIBE_USERS,
  startListening,
  waitForSubscriptions,
  waitUntil,
} from "./testing.ts";

afterEach(runCleanUps);

interface Stream {
  readonly sent: ClientRequest;
  readonly response: IncomingMessage;
  /** Everything that was received so far. */
  readonly text: () => string;
}

interface StreamOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly agent?: Agent;
  readonly accept?: string;
}

/** Opens a stream without a client library. */
async function open(
  port: number,
  { method = "POST", path = "/graphql", headers, body, agent, accept = "text/event-stream" }: StreamOptions,
): Promise<Stream> {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const sent = request({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: { accept, ...type, ...headers },
    ...(agent === undefined ? {} : { agent }),
  });
  runAtEnd(() => sent.destroy());
  sent.on("error", () => undefined);
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  response.on("error", () => undefined);
  return { sent, response, text: () => text };
}

const bodyOf = (query: string): string => JSON.stringify({ query });
const urlOf = (query: string): string => `/graphql?query=${encodeURIComponent(query)}`;

describe("an event stream", () => {
  const ways: readonly (readonly [string, StreamOptions])[] = [
    ["POST", { body: bodyOf(SUBSCRIBE_NAMES) }],
    ["GET", { method: "GET", path: urlOf(SUBSCRIBE_NAMES) }],
    ["a browser's GET", { method: "GET", path: urlOf(SUBSCRIBE_NAMES), headers: { "cache-control": "no-cache" } }],
    [
      "a POST whose Accept header has a parameter",
      { body: bodyOf(SUBSCRIBE_NAMES), headers: { accept: "text/event-stream; charset=utf-8" } },
    ],
  ];
  for (const [name, options] of ways) {
    it(`is opened by ${name} and sends events as graphql-sse specifies`, async () => {
      const { app, port } = await startListening();
      const { response, text } = await open(port, options);
      assert.equal(response.statusCode, 200);
      assert.equal(response.headers["content-type"], "text/event-stream; charset=utf-8");
      assert.equal(response.headers["cache-control"], "no-store");
      await waitForSubscriptions(app, 1);
      await postQuery(app, createUserOperation("ann"));
      await waitUntil(() => text().includes("ann"));
      assert.equal(text(), ':\n\nevent: next\ndata: {"data":{"userCreated":{"name":"ann"}}}\n\n');
    });
  }

  it("ends after the result of a query", async () => {
    const { port } = await startListening();
    const { response, text } = await open(port, { body: bodyOf("{ users { name } }") });
    await once(response, "end");
    assert.equal(text(), ':\n\nevent: next\ndata: {"data":{"users":[]}}\n\nevent: complete\ndata: \n\n');
  });

  it("returns the errors of a document as its result", async () => {
    const { port } = await startListening();
    const { response, text } = await open(port, { body: bodyOf("{ unknown }") });
    await once(response, "end");
    assert.equal(response.statusCode, 200);
    assert.match(
      text(),
      /^:\n\nevent: next\ndata: \{"errors":\[\{"message":"Cannot query field.*\n\nevent: complete\ndata: \n\n$/,
    );
  });

  it("does not execute a mutation by GET", async () => {
    const { app, port } = await startListening();
    const { response, text } = await open(port, { method: "GET", path: urlOf(createUserOperation("ann").query) });
    await once(response, "end");
    assert.match(text(), /"code":"BAD_REQUEST"/);
    assert.deepEqual((await postQuery(app, { query: "{ users { name } }" })).data, { users: [] });
  });

  const refused: readonly (readonly [string, StreamOptions, number])[] = [
    ["a body that is not JSON", { body: "{" }, 400],
    ["a body without a query", { body: "[]" }, 400],
    ["a wrong secret", { body: bodyOf(SUBSCRIBE_USERS), headers: { ...fromGateway, "x-gateway-secret": "x" } }, 401],
    [
      "a page of another site",
      {
        method: "GET",
        path: urlOf(SUBSCRIBE_USERS),
        headers: { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
      },
      403,
    ],
    ["a HEAD request", { method: "HEAD", path: urlOf(SUBSCRIBE_USERS) }, 406],
    ["a body that is too large", { body: bodyOf(" ".repeat(200_000)) }, 413],
  ];
  for (const [name, options, status] of refused) {
    it(`is refused with ${status} for ${name}`, async () => {
      const { port } = await startListening();
      const { response } = await open(port, options);
      assert.equal(response.statusCode, status);
    });
  }

  it("is not sent to a client that prefers JSON", async () => {
    const { port } = await startListening();
    const accept = "application/graphql-response+json, application/json, text/event-stream";
    const { response } = await open(port, { body: bodyOf("{ users { name } }"), headers: { accept } });
    assert.match(response.headers["content-type"] ?? "", /^application\/graphql-response\+json/);
  });

  it("is refused with 503 at the maximum number of connections", async () => {
    const { port } = await startListening({ subscriptionLimits: { connections: 1 } });
    await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    assert.equal((await open(port, { body: bodyOf(SUBSCRIBE_USERS) })).response.statusCode, 503);
  });

  it("leaves its connection usable for later requests", { timeout: 20_000 }, async () => {
    const reading = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<readonly []>();
    const store = arrayStore({
      user() {
        reading.resolve();
        return gate.promise.then(() => null);
      },
    });
    const { app, port } = await startListening({ store, subscriptionLimits: { heartbeatMilliseconds: 20 } });
    const sockets: Socket[] = [];
    app.server.on("connection", (socket: Socket) => sockets.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    runAtEnd(() => agent.destroy());
    const counts: (readonly number[])[] = [];
    for (let n = 0; n < 20; n++) {
      const { response } = await open(port, { body: bodyOf("{ users { name } }"), agent });
      await once(response, "end");
      counts.push(["close", "end", "timeout", "error"].map((name) => sockets[0]?.listenerCount(name) ?? 0));
    }
    assert.deepEqual(counts.at(-1), counts[1]);
    const slow = open(port, { method: "GET", path: urlOf('{ user(id: "x") { name } }'), agent, accept: "*/*" });
    await reading.promise;
    // Waits for three heartbeats of another stream: the connection of an ended stream that its client does not read
    // is cut after two.
    const clock = await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    await waitUntil(() => clock.text().length >= 3 * 8);
    gate.resolve([]);
    assert.equal((await slow).response.statusCode, 200);
    assert.equal(sockets.length, 2);
  });

  it("counts towards the rate of its client, and is refused with 429 beyond this rate", async () => {
    const { app, port } = await startListening({ requestsPerMinute: 2 });
    await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    await open(port, { body: bodyOf("{ users { name } }"), headers: fromGateway });
    await open(port, { method: "GET", path: urlOf(SUBSCRIBE_USERS) });
    await waitForSubscriptions(app, 2);
    const { response, text } = await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    assert.equal(response.statusCode, 429);
    assert.ok(Number(response.headers["retry-after"]) >= 1);
    await once(response, "end");
    const { error, ...rest } = JSON.parse(text());
    assert.match(error, /^Too many requests\. Retry in \d+ seconds$/);
    assert.deepEqual(rest, {});
    assert.equal(app.subscriptions.counts().subscriptions, 2);
    // Another client has a rate of its own.
    assert.equal((await open(port, { body: bodyOf(SUBSCRIBE_USERS), headers: fromGateway })).response.statusCode, 200);
  });

  it("sends comments as heartbeats", async () => {
    const { app, port } = await startListening({ subscriptionLimits: { heartbeatMilliseconds: 20 } });
    const { text } = await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    await waitForSubscriptions(app, 1);
    await waitUntil(() => text().startsWith(":\n\n:\n\n:\n\n"));
  });

  it("ends its subscription when the client disconnects", async () => {
    const { app, port } = await startListening();
    const { sent } = await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    await waitForSubscriptions(app, 1);
    sent.destroy();
    await waitForSubscriptions(app, 0);
    assert.equal(app.subscriptions.counts().streams, 0);
  });

  it("ends with an error when its client reads its events too slowly", async () => {
    const title = "x".repeat(100_000);
    const store = arrayStore({ postsOf: async (ids) => ids.map(() => [{ id: "post", title }]) });
    const { app, port } = await startListening({ store, subscriptionLimits: { connectionBytes: 300_000 } });
    const { response, text } = await open(port, { body: bodyOf(SUBSCRIBE_USERS) });
    await waitForSubscriptions(app, 1);
    response.pause();
    let created = 0;
    while (app.subscriptions.counts().slow === 0) {
      created += 1;
      assert.ok(created < 500, "the data that waits for one client is not bounded");
      await postQuery(app, createUserOperation(`user${created}`));
    }
    assert.equal(app.subscriptions.counts().subscriptions, 0);
    response.resume();
    await once(response, "end");
    assert.match(text().slice(-300), /"code":"SLOW_CONSUMER"\}\}\]\}\n\nevent: complete\ndata: \n\n$/);
  });
});
