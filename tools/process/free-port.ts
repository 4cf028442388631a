import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below the range that Linux hands out to outgoing connections (32768-60999): a port from inside it could be taken
 * by any connection between our look and the listener's start, or while a server that keeps its port restarts.
 */
const range = { from: 20_000, to: 32_000 };

/** A TCP port of 127.0.0.1 that nobody listens on, for a process that must be told its port before it starts. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(range.from, range.to);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found on 127.0.0.1 between ${range.from} and ${range.to}`);
}

/** True when a listener on this port of 127.0.0.1 can start. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
