/** Helpers for the tests of subscriptions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { FormattedExecutionResult } from "graphql";
import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type TestOptions, testApp } from "../testing.ts";
import type { OperationRequest } from "./socket-message.ts";

export const SUBSCRIBE_USERS = "subscription { userCreated { name email posts { title } } }";
export const SUBSCRIBE_NAMES = "subscription { userCreated { name } }";

export const createUserOperation = (name: string) => ({
  query: `mutation { createUser(name: "${name}", email: "${name}@example.org") { id } }`,
});

/** Clean-up functions of the running test; call `runCleanUps` in afterEach. */
const ends: (() => unknown)[] = [];
export const runAtEnd = (end: () => unknown): void => void ends.push(end);
export async function runCleanUps(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** The application, listening on a port. */
export async function startListening(options: TestOptions = {}) {
  const { app, logged } = await testApp(options);
  runAtEnd(() => app.close());
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { app, logged, port, url: `ws://127.0.0.1:${port}/graphql`, http: `http://127.0.0.1:${port}/graphql` };
}

export async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

/** Resolves once `count` subscriptions are active: the protocol does not acknowledge a subscription. */
export const waitForSubscriptions = (app: FastifyInstance, count: number): Promise<void> =>
  waitUntil(() => app.subscriptions.counts().subscriptions === count);

type Result = FormattedExecutionResult<Record<string, unknown>>;

/**
 * A client library. `iterate` yields the results of an operation. If the operation cannot run, graphql-ws rejects with
 * the errors, and graphql-sse yields them as a result.
 */
export interface SubscriptionClient {
  readonly name: string;
  iterate(port: number, operation: OperationRequest): AsyncIterableIterator<Result>;
}

export const subscriptionClients: readonly SubscriptionClient[] = [
  {
    name: "graphql-ws",
    iterate(port, operation) {
      const url = `ws://127.0.0.1:${port}/graphql`;
      const client = createSocketClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
      runAtEnd(() => client.dispose());
      return client.iterate(operation as never) as AsyncIterableIterator<Result>;
    },
  },
  {
    name: "graphql-sse",
    iterate(port, operation) {
      const client = createStreamClient({ url: `http://127.0.0.1:${port}/graphql`, retryAttempts: 0 });
      runAtEnd(() => client.dispose());
      return client.iterate(operation as never) as AsyncIterableIterator<Result>;
    },
  },
];

/** The first result. Rejects with the errors of an operation that cannot run, which a stream sends as its result. */
export async function firstEvent(
  client: SubscriptionClient,
  port: number,
  operation: OperationRequest,
): Promise<Result> {
  for await (const result of client.iterate(port, operation)) {
    if (result.data === undefined) throw result.errors;
    return result;
  }
  throw new Error("the subscription ended without a result");
}

export const connectionInit = '{"type":"connection_init"}';
export const subscribe = (id: string, query = SUBSCRIBE_USERS) =>
  JSON.stringify({ id, type: "subscribe", payload: { query } });

export interface TestSocketOptions {
  readonly headers?: Record<string, string>;
  readonly protocol?: string | string[];
  readonly autoPong?: boolean;
}

/** A plain WebSocket, for messages that a client library never sends. */
export async function bareSocket(url: string, { protocol, ...options }: TestSocketOptions = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, protocol ?? "graphql-transport-ws", options);
  runAtEnd(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

/** A plain WebSocket after `connection_ack`. */
export async function openAcknowledgedSocket(url: string, options: TestSocketOptions = {}): Promise<WebSocket> {
  const socket = await bareSocket(url, options);
  socket.send(connectionInit);
  await nextMessage(socket);
  return socket;
}

/** The next message of the server. Rejects when the socket closes instead. */
export async function nextMessage(socket: WebSocket): Promise<Record<string, unknown>> {
  const closing = new AbortController();
  const closed = (code: number) => closing.abort(new Error(`the socket was closed with ${code} before a message`));
  socket.once("close", closed);
  try {
    const [data] = await once(socket, "message", { signal: closing.signal });
    return JSON.parse(String(data));
  } finally {
    socket.off("close", closed);
  }
}

/** A TCP connection that sends only what the test writes and reads nothing by itself. */
export async function rawConnection(port: number): Promise<Socket> {
  const raw = connect(port, "127.0.0.1");
  runAtEnd(() => raw.destroy());
  raw.on("error", () => undefined);
  await once(raw, "connect");
  return raw;
}

export const upgradeRequest = (port: number): string =>
  [
    "GET /graphql HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol: graphql-transport-ws",
    "\r\n",
  ].join("\r\n");

/** A text in a client's frame, masked by zeros. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 0xfe, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

export const CLOSE_FRAME = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);

/** A TCP connection after the WebSocket handshake, with any bytes that followed it. */
export async function rawSocket(port: number): Promise<{ raw: Socket; rest: Buffer }> {
  const raw = await rawConnection(port);
  raw.write(upgradeRequest(port));
  let got = Buffer.alloc(0);
  while (!got.includes("\r\n\r\n")) {
    const [chunk] = await once(raw, "data");
    got = Buffer.concat([got, chunk]);
  }
  assert.match(String(got), /^HTTP\/1\.1 101 /);
  return { raw, rest: got.subarray(got.indexOf("\r\n\r\n") + 4) };
}
