/** The embedded database: Postgres in this process, with its files in a folder or in memory. */
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import type { Database, SqlRow } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import type { PgliteAnswer, PgliteCall } from "./pglite-main.ts";

export interface PgliteOptions {
  /** The data folder; created when missing. Unset: in memory, lost when the process ends. */
  readonly folder?: string;
  /** Called when the thread has ended by itself; later queries fail. Default: ignored. */
  readonly onDeath?: (error: Error) => void;
}

/** Starts the thread and waits until PGlite is ready. Rejects with FolderInUse when the folder is already in use. */
export async function openPglite({ folder, onDeath }: PgliteOptions = {}): Promise<Database> {
  const unlock = folder === undefined ? async () => undefined : await lockFolder(folder);
  const files = folder === undefined ? undefined : join(folder, "pglite");
  if (files !== undefined) await mkdir(files, { recursive: true });
  const worker = new Worker(new URL(`./pglite-main${extname(import.meta.url)}`, import.meta.url), {
    workerData: { folder: files },
  });
  /** True from the success of the first call until the database is closed or its thread ends. */
  let serves = false;
  const death = new AbortController();
  const die = (error: Error): void => {
    if (death.signal.aborted) return;
    death.abort(error);
    if (serves) onDeath?.(error);
    serves = false;
  };
  worker.on("error", die);
  worker.on("exit", () => die(new Error(serves ? "its thread has ended" : "the embedded database is closed")));

  async function call(
    method: PgliteCall["method"],
    text = "",
    values: readonly unknown[] = [],
  ): Promise<readonly SqlRow[]> {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ method, text, values, port: port2 } satisfies PgliteCall, [port2]);
    try {
      // Promise.race with a promise for the thread's end would retain the reactions of all calls until the thread ends.
      const [answer]: PgliteAnswer[] = await once(port1, "message", { signal: death.signal }).catch(
        (error: unknown) => {
          throw death.signal.aborted ? death.signal.reason : error;
        },
      );
      if (answer === undefined || "failure" in answer) throw new Error(answer?.failure);
      return answer.rows;
    } finally {
      port1.close();
    }
  }

  async function close(): Promise<void> {
    const alive = serves;
    serves = false;
    try {
      // A dead thread can no longer close the database; the folder is unlocked nevertheless.
      if (alive) await call("close");
    } finally {
      await worker.terminate();
      await unlock();
    }
  }

  try {
    await call("script");
  } catch (error) {
    await close();
    throw error;
  }
  serves = true;
  return {
    query: (text, values) => call("query", text, values),
    async script(text) {
      await call("script", text);
    },
    close,
  };
}
