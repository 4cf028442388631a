import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Ports below Linux's range for outgoing connections (32768-60999). A port in that range could be taken by any
 * connection between the check (`isFree`) and the listener's start, or while a server restarts.
 */
const range = { from: 20_000, to: 32_000 };

/**
 * A free TCP port of 127.0.0.1, for a process that needs its port before it starts. Until this process ends, no other
 * call returns the same port, in any process: otherwise concurrent suites would take each other's ports.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(range.from, range.to);
    if ((await isFree(port)) && (await reserve(port))) return port;
  }
  throw new Error(`no free port found on 127.0.0.1 between ${range.from} and ${range.to}`);
}

/** Whether a listener on this port of 127.0.0.1 can start. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Connects to this port of 127.0.0.1. Rejects if nothing listens there. */
export async function connectToPort(port: number): Promise<true> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } finally {
    socket.destroy();
  }
}

/**
 * Binds the UDP port of the same number: the TCP port stays free, and the system releases the UDP port even if this
 * process is killed. Resolves to whether the UDP port was free.
 */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => resolve(false));
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}
