import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Runs work while no other work of the same name runs on this machine, in any process; other calls wait.
 *
 * The lock is a Linux abstract socket: the kernel gives it to one process and frees it when that process ends, so
 * there are no stale locks. A waiting process connects to it and is woken when the connection closes.
 *
 * @param waiting Called once if another call holds the lock.
 */
export async function oneAtATime<T>(name: string, work: () => Promise<T>, waiting: () => void = () => {}): Promise<T> {
  if (process.platform !== "linux") throw new Error(`${name}: the test tools can be built only on Linux`);
  const path = `\0sluice-${createHash("sha256").update(name).digest("hex")}`;
  let hasWaited = false;
  for (;;) {
    const release = await hold(path);
    if (release !== undefined) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (!hasWaited) waiting();
    hasWaited = true;
    await released(path);
  }
}

/** Acquires the lock and resolves to a function that releases it, or to undefined when it is held. */
async function hold(path: string): Promise<(() => void) | undefined> {
  const waiters = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    waiters.add(socket);
    socket.on("error", () => {}).unref();
  });
  server.listen(path);
  try {
    await once(server, "listening");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return undefined;
    throw error;
  }
  return () => {
    server.close();
    for (const waiter of waiters) waiter.destroy();
  };
}

/** Resolves when the holder releases the lock, or has released it already. */
function released(path: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}
