/** Drains the body of a refused request. */
import type { IncomingMessage } from "node:http";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MILLISECONDS = 5000;

/**
 * Reads and discards the rest of a body. A client that is still sending when the connection closes would get a
 * connection error instead of the response. The limits on size and time are for clients that send too much or too
 * slowly.
 */
export function drainBody(incoming: IncomingMessage): Promise<void> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(finish, MAX_MILLISECONDS);
    incoming.on("data", count).on("end", finish).on("error", finish).on("close", finish).resume();

    function count(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) finish();
    }
    function finish(): void {
      clearTimeout(timer);
      incoming.off("data", count).off("end", finish).off("close", finish);
      resolve();
    }
  });
}
