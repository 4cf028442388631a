/** Servers that receive the records of log plugins, and instances of these plugins. */
import { createSocket } from "node:dgram";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import type { PluginConfigs, PluginName } from "@sluice/model";
import type { EndedConnection } from "@sluice/plugin-sdk";
import {
  type FakeExchangeOptions,
  fakeContext,
  fakeExchange,
  fakeService,
  fakeStream,
  pluginInstance,
  printMetrics,
} from "./fake-exchange.ts";
import { withConfigDefaults } from "./filled-configs.ts";

/** A span as zipkin sends it (Zipkin API v2). */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly name: string;
  readonly kind: string;
  readonly timestamp: number;
  readonly duration: number;
  readonly localEndpoint: object;
  readonly remoteEndpoint?: object;
  readonly tags: Readonly<Record<string, string>>;
  readonly annotations?: readonly { readonly value: string; readonly timestamp: number }[];
}

/** Starts a server on a free port of this machine, and resolves with the port. */
export async function listenTcp(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A port on which nothing listens. */
export async function refusingPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listenTcp(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly bytes: Buffer;
}

/** Sends the response to a request. `count` is the number of requests so far, with this one. */
export type CollectorAnswer = (response: ServerResponse, count: number) => void;

/** An HTTP log server. Default: it answers 200. */
export async function startLogCollector(test: TestContext, answer: CollectorAnswer = (response) => response.end()) {
  const received: ReceivedRequest[] = [];
  let connections = 0;
  const listener: RequestListener = async (request, response) => {
    const bytes = Buffer.concat(await request.toArray());
    const { method, url, headers } = request;
    received.push({ method, url, headers, body: bytes.toString(), bytes });
    answer(response, received.length);
  };
  const server = createServer(listener).on("connection", () => connections++);
  const port = await listenTcp(server);
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { received, connections: () => connections, origin: `127.0.0.1:${port}` };
}

export interface TextServer {
  readonly port: number;
  /** Resolves with the first `count` lines or datagrams once they have arrived. */
  received(count: number): Promise<readonly string[]>;
}

/** Collects received lines or datagrams, and lets a test wait for them. */
class Inbox {
  readonly #texts: string[] = [];
  #arrived = Promise.withResolvers<void>();

  add(text: string): void {
    this.#texts.push(text);
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  async first(count: number): Promise<readonly string[]> {
    while (this.#texts.length < count) await this.#arrived.promise;
    return this.#texts.slice(0, count);
  }
}

export interface LineServerOptions {
  /** Certificate and key. Absent: without TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Called with each connection and its number, from 1. */
  readonly onConnection?: (socket: Socket, count: number) => void;
}

/** A TCP server that receives lines. */
export async function startLineServer(
  test: TestContext,
  { tls, onConnection = () => {} }: LineServerOptions = {},
): Promise<TextServer & { connections(): number }> {
  const inbox = new Inbox();
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    sockets.add(socket);
    let rest = "";
    socket
      .on("error", () => {})
      .on("data", (data) => {
        const lines = (rest + data).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) inbox.add(line);
      });
    onConnection(socket, ++connections);
  };
  const server = tls === undefined ? createTcpServer(accept) : createTlsServer(tls, accept);
  const port = await listenTcp(server);
  test.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port, received: (count) => inbox.first(count), connections: () => connections };
}

export async function startDatagramServer(test: TestContext): Promise<TextServer> {
  const inbox = new Inbox();
  const socket = createSocket("udp4").on("message", (message) => inbox.add(message.toString()));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  test.after(() => socket.close());
  return { port: socket.address().port, received: (count) => inbox.first(count) };
}

export interface LoggingInstance {
  readonly log: readonly object[];
  add(exchange: FakeExchangeOptions): void;
  addConnection(connection: Partial<EndedConnection>): void;
  stop(): Promise<void>;
  /** The number of dropped entries. */
  dropped(): Promise<number>;
}

/**
 * An instance of a log plugin; it stops when the test ends.
 *
 * @param authorities PEM certificates of authorities that the instance trusts
 */
export function startLogging<Name extends PluginName>(
  test: TestContext,
  plugin: Name,
  { authorities = [], ...config }: { readonly authorities?: readonly string[]; readonly [member: string]: unknown },
): LoggingInstance {
  const log: object[] = [];
  const write = (facts: object, message: string) => void log.push({ message, ...facts });
  const context = fakeContext({ plugin, authorities, log: { info: write, warn: write, error: write } });
  const phases = pluginInstance(plugin, withConfigDefaults(plugin, config) as PluginConfigs[Name], context);
  const stop = async () => {
    await phases.stop?.();
    context.end();
  };
  test.after(stop);
  return {
    log,
    add: (exchange) => phases.log?.(fakeExchange(exchange)),
    addConnection: (connection) => phases.connectionLog?.(fakeStream(connection)),
    stop,
    async dropped() {
      const text = await printMetrics(context.metrics.tables);
      const counts = [...text.matchAll(/^sluice_\w+_dropped_entries_total\{.*\} (\d+)$/gm)];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    },
  };
}

/** The data of the first three attempts to send a datagram for one request, of which the second attempt fails. */
export async function datagramsWithFailure<Name extends PluginName>(
  plugin: Name,
  config: object,
): Promise<readonly string[]> {
  const attempts: string[] = [];
  const sent = Promise.withResolvers<void>();
  const context = fakeContext({
    plugin,
    datagrams: () => ({
      async send(data) {
        attempts.push(data.toString());
        if (attempts.length === 2) throw new Error("the network is down");
        if (attempts.length === 3) sent.resolve();
      },
      close() {},
    }),
  });
  const queue = { initial_retry_delay: 0.001, max_coalescing_delay: 0 };
  const phases = pluginInstance(
    plugin,
    withConfigDefaults(plugin, { ...config, queue }) as PluginConfigs[Name],
    context,
  );
  phases.log?.(fakeExchange({ service: fakeService({ name: "a" }), bytesIn: 7 }));
  await sent.promise;
  await phases.stop?.();
  context.end();
  return attempts;
}
