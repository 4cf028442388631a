/**
 * Forwards a port of this machine into a node's network: a listener on loopback, and a process inside that connects.
 *
 *     node forward.ts SOCKET    runs the process inside
 *
 * The two communicate by a Unix socket, because its path works across network namespaces. The first line on each
 * connection of the socket is the destination: `host port`.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A port of this machine that leads to an address inside. */
export interface Forward {
  /** On 127.0.0.1. */
  readonly port: number;
  close(): void;
}

/** Listens on a free port of 127.0.0.1 and forwards connections to a host and port inside. */
export async function forwardPort(socket: string, to: { host: string; port: number }): Promise<Forward> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const inside = connect({ path: socket, allowHalfOpen: true });
    inside.write(`${to.host} ${to.port}\n`);
    for (const side of join(client, inside)) {
      open.add(side);
      side.once("close", () => open.delete(side));
    }
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const side of open) side.destroy();
    },
  };
}

/** Pipes two connections into each other; both end when one breaks. */
function join(a: Socket, b: Socket): readonly [Socket, Socket] {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.setNoDelay(true).pipe(to);
    from.once("error", () => to.destroy()).once("close", () => to.destroySoon());
  }
  return [a, b];
}

function serveInside(socket: string): void {
  createServer({ allowHalfOpen: true }, (client) => {
    let head = Buffer.alloc(0);
    client.on("error", () => {});
    client.on("data", function untilLine(piece: Buffer) {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf("\n");
      if (end < 0) return;
      client.off("data", untilLine).pause();
      const [host = "", port = ""] = head.toString("utf8", 0, end).split(" ");
      client.unshift(head.subarray(end + 1));
      join(client, connect({ host, port: Number(port), allowHalfOpen: true }));
    });
  }).listen(socket, () => console.log("ready"));
}

if (import.meta.main) serveInside(process.argv[2] ?? "");
