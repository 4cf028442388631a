/** Upstreams with several targets, each of which responds with its own letter. */
import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";
import { type Received, type Sent, sendRequest } from "./client.ts";
import { listen, portOf } from "./proxy-rig.ts";

export interface PoolServer {
  /** By the order of the addresses: `a`, `b`, … */
  readonly letter: string;
  readonly address: string;
  readonly port: number;
  readonly server: Server;
  /** Stops accepting connections and breaks existing ones. */
  stop(): Promise<void>;
  /** Accepts connections again, on the same port. */
  restart(): Promise<void>;
}

/** How every server of a pool handles a request; by default it responds with its letter. */
export type Serve = (letter: string) => RequestListener;

const withLetter: Serve = (letter) => (_request, response) => response.end(letter);

/** Starts `count` servers, which are closed when the test ends. Returns them by ascending address. */
export async function startPool(
  test: TestContext,
  count: number,
  serve: Serve = withLetter,
): Promise<readonly PoolServer[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(test, createServer())));
  return servers
    .map((server) => ({ server, port: portOf(server), address: `127.0.0.1:${portOf(server)}` }))
    .toSorted((one, other) => (one.address < other.address ? -1 : 1))
    .map(({ server, port, address }, at): PoolServer => {
      const letter = String.fromCharCode(97 + at);
      const sockets = new Set<Socket>();
      server.on("connection", (socket: Socket) => {
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
      });
      server.on("request", serve(letter));
      return {
        letter,
        address,
        port,
        server,
        async stop() {
          const closed = new Promise((resolve) => server.close(resolve));
          for (const socket of sockets) socket.destroy();
          await closed;
        },
        async restart() {
          await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
        },
      };
    });
}

/** The weight of each server by its address, from `weights` in the same order; default 100. */
export const weighted = (servers: readonly PoolServer[], weights: readonly number[] = []): Record<string, number> =>
  Object.fromEntries(servers.map(({ address }, at) => [address, weights[at] ?? 100]));

/** The concatenated response bodies of `count` sequential requests. */
export async function letters(port: number, count: number, sent: Sent = {}): Promise<string> {
  let all = "";
  for (let turn = 0; turn < count; turn++) all += (await sendRequest(port, sent)).body;
  return all;
}

/** The timeout of waits, in milliseconds. */
const PATIENCE = 10_000;

/** Sends requests until `wanted` accepts a response. */
export async function sendUntil(port: number, wanted: (received: Received) => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!wanted(await sendRequest(port))) assert.ok(performance.now() < deadline, "no response met the condition");
}

/** Waits until a condition holds, checking it after each turn of the event loop. */
export async function becomes(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `timed out waiting until ${holds}`);
    await new Promise(setImmediate);
  }
}
