import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Runs work while no other process of this machine runs work of the same name; the others wait for their turn.
 *
 * The lock is a Linux abstract socket: the kernel gives it to one process and frees it however that process ends, so
 * there is no stale lock to clean up. Who comes second connects to it and is woken by the end of the connection.
 *
 * @param waiting called once when another process holds the lock.
 */
export async function oneAtATime<T>(name: string, work: () => Promise<T>, waiting: () => void = () => {}): Promise<T> {
  if (process.platform !== "linux") throw new Error(`${name}: the test tools can be made on Linux only`);
  const path = `\0sluice-${createHash("sha256").update(name).digest("hex")}`;
  let told = false;
  for (;;) {
    const release = await hold(path);
    if (release !== undefined) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (!told) waiting();
    told = true;
    await released(path);
  }
}

/** Takes the lock and answers what frees it, or undefined when another process has it. */
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

/** Settles when the holder lets go, or is gone already. */
function released(path: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}
