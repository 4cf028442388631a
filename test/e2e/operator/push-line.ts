/** A TCP proxy between the operator and a node's push listener. It can pause within a push and call the test. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface PushLine {
  /** https:// URL that leads to the node. */
  readonly url: string;
  /**
   * Calls `then` once, during the operator's next push: after this number of bytes of the chunk that makes the request
   * larger than a poll. The other bytes are forwarded once the promise of `then`, if any, has resolved.
   */
  atNextPush(bytes: number, then: () => unknown): void;
  close(): void;
}

/** Bytes: more than a poll, which is one TLS record with the head of a GET. */
const LOOK = 400;
/** Changes of direction before the handshake and a first poll are complete. */
const OPENING = 4;

/** @param push Base URL of a push listener. */
export async function startPushLine(push: string): Promise<PushLine> {
  const { hostname, port } = new URL(push);
  const sockets = new Set<Socket>();
  let waiting: { readonly bytes: number; readonly then: () => unknown } | null = null;
  const listener = createServer((incoming) => {
    const outgoing = connect(Number(port), hostname);
    let turns = 0;
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
    outgoing.on("data", (chunk: Buffer) => {
      incoming.write(chunk);
      if (sent > 0) turns++;
      sent = 0;
    });
    incoming.on("data", async (chunk: Buffer) => {
      if (sent === 0) turns++;
      sent += chunk.length;
      const mine = waiting;
      if (mine && turns > OPENING && sent > LOOK) {
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
