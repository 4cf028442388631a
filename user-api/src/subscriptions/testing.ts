/** What the tests of subscriptions share. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { FormattedExecutionResult } from "graphql";
import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type TestOptions, testApp } from "../testing.ts";
import type { OperationRequest } from "./socket-message.ts";

export const FOLLOW = "subscription { userCreated { name email posts { title } } }";
export const FOLLOW_NAMES = "subscription { userCreated { name } }";

export const create = (name: string) => ({
  query: `mutation { createUser(name: "${name}", email: "${name}@example.org") { id } }`,
});

/** What a test has begun; `endAll` is for afterEach. */
const ends: (() => unknown)[] = [];
export const atEnd = (end: () => unknown): void => void ends.push(end);
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** The application on a port. */
export async function listening(options: TestOptions = {}) {
  const { app, logged } = await testApp(options);
  atEnd(() => app.close());
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { app, logged, port, url: `ws://127.0.0.1:${port}/graphql`, http: `http://127.0.0.1:${port}/graphql` };
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

/** Resolves once as many subscriptions as named are under way: the server says nothing of its own to a subscriber. */
export const following = (app: FastifyInstance, count: number): Promise<void> =>
  until(() => app.live.counts().subscriptions === count);

type Result = FormattedExecutionResult<Record<string, unknown>>;

/** A client library: the results of an operation. Rejects with the errors of one that cannot run. */
export interface Client {
  readonly name: string;
  iterate(port: number, operation: OperationRequest): AsyncIterableIterator<Result>;
}

export const clients: readonly Client[] = [
  {
    name: "graphql-ws",
    iterate(port, operation) {
      const url = `ws://127.0.0.1:${port}/graphql`;
      const client = createSocketClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
      atEnd(() => client.dispose());
      return client.iterate(operation as never) as AsyncIterableIterator<Result>;
    },
  },
  {
    name: "graphql-sse",
    iterate(port, operation) {
      const client = createStreamClient({ url: `http://127.0.0.1:${port}/graphql`, retryAttempts: 0 });
      atEnd(() => client.dispose());
      return client.iterate(operation as never) as AsyncIterableIterator<Result>;
    },
  },
];

/** The first result. Rejects with the errors of an operation that cannot run, which a stream gives as its result. */
export async function firstOf(client: Client, port: number, operation: OperationRequest): Promise<Result> {
  for await (const result of client.iterate(port, operation)) {
    if (result.data === undefined) throw result.errors;
    return result;
  }
  throw new Error("the subscription ended without a result");
}

export const init = '{"type":"connection_init"}';
export const subscribe = (id: string, query = FOLLOW) => JSON.stringify({ id, type: "subscribe", payload: { query } });

export interface SocketOptions {
  readonly headers?: Record<string, string>;
  readonly protocol?: string | string[];
  readonly autoPong?: boolean;
}

/** A bare socket, for what a proper client never does. */
export async function bareSocket(url: string, { protocol, ...options }: SocketOptions = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, protocol ?? "graphql-transport-ws", options);
  atEnd(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

/** A bare socket that may subscribe. */
export async function acknowledged(url: string, options: SocketOptions = {}): Promise<WebSocket> {
  const socket = await bareSocket(url, options);
  socket.send(init);
  await once(socket, "message");
  return socket;
}

/** The next message of the server. */
export async function nextMessage(socket: WebSocket): Promise<Record<string, unknown>> {
  const [data] = await once(socket, "message");
  return JSON.parse(String(data));
}
