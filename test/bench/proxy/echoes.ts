/** WebSocket connections that send the next message as soon as the previous one has been echoed. */
import { once } from "node:events";
import { WebSocket } from "ws";
import type { WrkResult } from "./wrk.ts";

export interface Echoes {
  /** Sends messages for this time. Resolves to the number of echoed messages and their latency. */
  run(seconds: number): Promise<WrkResult>;
  close(): void;
}

/** The content of each message. */
const message = Buffer.alloc(64, "x");
/** Maximum number of concurrent handshakes. */
const AT_ONCE = 100;

export async function openEchoes({ url, connections }: { url: string; connections: number }): Promise<Echoes> {
  const sockets: WebSocket[] = [];
  const close = () => {
    for (const socket of sockets) socket.terminate();
  };
  try {
    while (sockets.length < connections) {
      const opening = Array.from({ length: Math.min(AT_ONCE, connections - sockets.length) }, () => {
        const socket = new WebSocket(url, { perMessageDeflate: false });
        sockets.push(socket);
        return once(socket, "open");
      });
      await Promise.all(opening);
    }
  } catch (error) {
    close();
    throw error;
  }
  return { run: (seconds) => runFor(sockets, seconds), close };
}

async function runFor(sockets: readonly WebSocket[], seconds: number): Promise<WrkResult> {
  const latencies: number[] = [];
  let failures = 0;
  const began = performance.now();
  const deadline = began + seconds * 1000;
  const loop = (socket: WebSocket): Promise<void> =>
    new Promise((resolve) => {
      let sent = 0;
      const send = () => {
        sent = performance.now();
        socket.send(message);
      };
      const end = () => {
        socket.off("message", take).off("close", fail);
        resolve();
      };
      const fail = () => {
        failures++;
        end();
      };
      const take = () => {
        const now = performance.now();
        latencies.push(now - sent);
        if (now < deadline) send();
        else end();
      };
      socket.on("message", take).once("close", fail);
      send();
    });
  await Promise.all(sockets.map(loop));
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    requests: sorted.length,
    seconds: (performance.now() - began) / 1000,
    failures,
    p50: at(0.5),
    p99: at(0.99),
  };
}
