/** A line between the operator and a node's push listener that somebody can cut at a certain byte of a push. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface PushLine {
  /** https:// address that leads to the node. */
  readonly url: string;
  /**
   * Calls back once, with the next bytes of the operator's that are of a push and not of a look (which is smaller), after
   * so many of them: they are not passed on before it returns.
   */
  atNextPush(bytes: number, then: () => unknown): void;
  close(): void;
}

/** More than a look takes on a connection that is open: a TLS record with the head of a GET. */
const LOOK = 1024;

/** @param push Base address of a push listener. */
export async function startPushLine(push: string): Promise<PushLine> {
  const { hostname, port } = new URL(push);
  const sockets = new Set<Socket>();
  let waiting: { readonly bytes: number; readonly then: () => unknown } | null = null;
  const listener = createServer((incoming) => {
    const outgoing = connect(Number(port), hostname);
    let opened = 0;
    let sent = 0;
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        incoming.destroy();
        outgoing.destroy();
      });
    }
    outgoing.on("data", (chunk) => {
      incoming.write(chunk);
      opened += chunk.length;
      sent = 0;
    });
    incoming.on("data", async (chunk) => {
      sent += chunk.length;
      const mine = waiting;
      // The handshake is passed on as it is.
      if (mine && opened > 2 * LOOK && sent > LOOK) {
        waiting = null;
        const part = chunk.subarray(0, mine.bytes);
        incoming.pause();
        outgoing.write(part);
        await mine.then();
        incoming.resume();
        outgoing.write(chunk.subarray(part.length));
      } else outgoing.write(chunk);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    atNextPush(bytes, then) {
      waiting = { bytes, then };
    },
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
