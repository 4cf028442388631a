/** What is left of a body that is refused. */
import type { IncomingMessage } from "node:http";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MILLISECONDS = 5000;

/**
 * Reads and drops the rest of a body. A client that is still sending when the connection ends gets an error of its
 * system instead of the answer. One that sends very much, or very slowly, is not waited for.
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
