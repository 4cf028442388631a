/** The embedded database: Postgres in this process, with its files in a folder or in memory. */
import { mkdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Database, Row } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import type { Answer, Call } from "./pglite-worker.ts";

export interface PgliteOptions {
  /** The data folder; created when missing. Unset: in memory, lost when the process ends. */
  readonly folder?: string;
  /** Called when the thread has ended by itself; later queries fail. Default: ignored. */
  readonly onDeath?: (error: Error) => void;
}

interface Waiting {
  resolve(rows: readonly Row[]): void;
  reject(error: Error): void;
}

/** Starts the thread and waits until PGlite is ready. Rejects with FolderInUse when another process has the folder. */
export async function openPglite({ folder, onDeath }: PgliteOptions = {}): Promise<Database> {
  const unlock = folder === undefined ? async () => undefined : await lockFolder(folder);
  const files = folder === undefined ? undefined : join(folder, "pglite");
  if (files !== undefined) await mkdir(files, { recursive: true });
  const worker = new Worker(new URL(`./pglite-worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: { folder: files },
  });
  // Not `once` of node:events, which rejects when the thread fails before it ends.
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let lost: Error | undefined;
  /** From the first response until closing. */
  let serves = false;

  const fail = (error: Error): void => {
    lost ??= error;
    if (serves) onDeath?.(lost);
    serves = false;
    for (const { reject } of waiting.values()) reject(lost);
    waiting.clear();
  };
  worker.on("error", fail);
  worker.on("exit", () => fail(new Error(serves ? "its thread has ended" : "the embedded database is closed")));
  worker.on("message", ({ id, rows, failure }: Answer) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (failure !== undefined) one?.reject(new Error(failure));
    else one?.resolve(rows);
  });

  const call = (method: Call["method"], text = "", values: readonly unknown[] = []): Promise<readonly Row[]> =>
    new Promise((resolve, reject) => {
      if (lost !== undefined) {
        reject(lost);
        return;
      }
      last += 1;
      waiting.set(last, { resolve, reject });
      worker.postMessage({ id: last, method, text, values } satisfies Call);
    });

  const stop = async (): Promise<void> => {
    await worker.terminate();
    await ended;
    await unlock();
  };

  try {
    await new Promise<readonly Row[]>((resolve, reject) => waiting.set(0, { resolve, reject }));
  } catch (error) {
    await stop();
    throw error;
  }
  serves = true;
  return {
    query: (text, values) => call("query", text, values),
    async script(text) {
      await call("script", text);
    },
    async close() {
      serves = false;
      // A dead thread has not closed the database and cannot be asked to; the folder is unlocked nevertheless.
      if (lost === undefined) await call("close").finally(stop);
      else await stop();
    },
  };
}
