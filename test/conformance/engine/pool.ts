/** Upstreams with several targets, each of which answers with a letter of its own. */
import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";
import { type Received, type Sent, send } from "./client.ts";
import { listen, portOf } from "./rig.ts";

export interface PoolServer {
  /** By the order of the addresses: `a`, `b`, … */
  readonly letter: string;
  readonly address: string;
  readonly port: number;
  readonly server: Server;
  /** Takes connections no more; those that are there break. */
  stop(): Promise<void>;
  /** Takes connections again, on the same port. */
  restart(): Promise<void>;
}

/** What every server of a pool does with a request; by default it answers with its letter. */
export type Serve = (letter: string) => RequestListener;

const withLetter: Serve = (letter) => (_request, response) => response.end(letter);

/** Closed when the test ends. */
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

/** Weights of the servers in their order; 100 for those without. */
export const weighted = (servers: readonly PoolServer[], weights: readonly number[] = []): Record<string, number> =>
  Object.fromEntries(servers.map(({ address }, at) => [address, weights[at] ?? 100]));

/** The bodies of so many requests, one after the other. */
export async function letters(port: number, count: number, sent: Sent = {}): Promise<string> {
  let all = "";
  for (let turn = 0; turn < count; turn++) all += (await send(port, sent)).body;
  return all;
}

/** Milliseconds after which what a test waits for is given up. */
const PATIENCE = 10_000;

/** Sends requests until one is answered as the test wants it. */
export async function sendUntil(port: number, wanted: (received: Received) => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!wanted(await send(port))) assert.ok(performance.now() < deadline, "no answer was the one that was wanted");
}

/** Waits until something holds, looking again whenever other things have had their turn. */
export async function becomes(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `it does not become true that ${holds}`);
    await new Promise(setImmediate);
  }
}
