/** The embedded database: Postgres in this process, with its files in a folder or in memory. */
import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { isServerState } from "../describe-error.ts";
import {
  type Database,
  type DatabaseConnection,
  DatabaseFault,
  type DatabaseRow,
  DatabaseUnreachable,
  DEFAULT_SCHEMA,
  inTransaction,
} from "../driver.ts";
import { dataFolder, lockFolder } from "./folder.ts";
import { batchPerTurn, type EmbeddedCall, type EmbeddedReply, type EmbeddedStart } from "./protocol.ts";

export interface EmbeddedOptions {
  /** The folder of the files; created if missing. Unset: in memory, and the data is lost when the process ends. */
  readonly folder?: string;
  readonly schema?: string;
  /** Milliseconds between checks whether maintenance is needed. Default 60,000. */
  readonly upkeep?: number;
}

interface Waiting {
  resolve(rows: readonly DatabaseRow[]): void;
  reject(error: Error): void;
}

/**
 * Starts the thread that runs PGlite, and waits until PGlite responds: 0.3 s, or 2 s in a new folder.
 *
 * @throws FolderInUse when another process uses the folder.
 */
export async function openEmbedded({
  folder,
  schema = DEFAULT_SCHEMA,
  upkeep,
}: EmbeddedOptions = {}): Promise<Database> {
  const unlock = folder === undefined ? () => undefined : lockFolder(folder);
  const start: EmbeddedStart = { files: folder === undefined ? undefined : dataFolder(folder), schema };
  const worker = new Worker(new URL(`./embedded-main${extname(import.meta.url)}`, import.meta.url), {
    workerData: start,
  });
  const ended = once(worker, "exit");
  const waiting = new Map<number, Waiting>();
  const listeners = new Map<string, Set<(payload: string) => void>>();
  let last = 0;
  let lost: DatabaseUnreachable | undefined;
  /** Resolves when the open transaction has ended: it owns the only connection. */
  let turn: Promise<void> = Promise.resolve();

  const lose = (cause: Error): void => {
    lost ??= new DatabaseUnreachable(`the embedded database has ended: ${cause.message}`, { cause });
    for (const { reject } of waiting.values()) reject(lost);
    waiting.clear();
  };
  worker.on("error", lose);
  worker.on("exit", () => lose(new Error("it was closed")));
  worker.on("message", (all: readonly EmbeddedReply[]) => all.forEach(handleReply));
  function handleReply(reply: EmbeddedReply): void {
    if ("channel" in reply) {
      for (const onSignal of listeners.get(reply.channel) ?? []) onSignal(reply.payload);
      return;
    }
    const one = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ("rows" in reply) one?.resolve(reply.rows);
    else one?.reject(faultOf(reply));
  }

  /**
   * Unless the error concerns only the statement, the message also names the folder, because the paths of files in
   * Postgres' errors are relative to it.
   */
  function faultOf({ failure, facts }: Extract<EmbeddedReply, { failure: string }>): Error {
    const place = folder === undefined ? "" : ` (in ${folder})`;
    if (facts) return new DatabaseFault(isServerState(facts.code) ? `${failure}${place}` : failure, facts);
    return new DatabaseUnreachable(`the embedded database does not answer: ${failure}${place}`);
  }

  const send = batchPerTurn((calls: readonly EmbeddedCall[]) => worker.postMessage(calls));

  const call = (
    method: EmbeddedCall["method"],
    text = "",
    values: readonly unknown[] = [],
  ): Promise<readonly DatabaseRow[]> =>
    new Promise((resolve, reject) => {
      if (lost !== undefined) {
        reject(lost);
        return;
      }
      last += 1;
      waiting.set(last, { resolve, reject });
      send({ id: last, method, text, values });
    });

  const connection: DatabaseConnection = {
    query: (text, values) => call("query", text, values),
    async script(text) {
      await call("script", text);
    },
  };

  /** Earlier statements run before this transaction; later statements wait until it has ended. */
  async function transaction<Result>(run: (connection: DatabaseConnection) => Promise<Result>): Promise<Result> {
    const before = turn;
    const { promise, resolve: end } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    try {
      return await inTransaction(connection, run, () => lost !== undefined);
    } finally {
      end();
    }
  }

  async function stop(): Promise<void> {
    await worker.terminate();
    await ended;
    unlock();
  }

  try {
    await new Promise<readonly DatabaseRow[]>((resolve, reject) => waiting.set(0, { resolve, reject }));
  } catch (error) {
    await stop();
    throw error;
  }

  const outside: DatabaseConnection = {
    async query(text, values) {
      await turn;
      return connection.query(text, values);
    },
    async script(text) {
      await turn;
      await connection.script(text);
    },
  };
  const endUpkeep = startMaintenance(outside, upkeep);

  return {
    ...outside,
    schema,
    transaction,
    async listen(channel, onSignal) {
      const known = listeners.get(channel);
      const all = known ?? new Set();
      listeners.set(channel, all);
      all.add(onSignal);
      await turn;
      if (!known) await call("listen", channel);
      return () => void all.delete(onSignal);
    },
    failure: () => lost?.message ?? null,
    async close() {
      endUpkeep();
      await turn;
      // A crashed thread cannot close anything; the folder is released nevertheless.
      if (lost === undefined) await call("close").finally(stop);
      else await stop();
    },
  };
}

/** Milliseconds between checks whether maintenance is needed. */
const INTERVAL = 60_000;
/** A vacuum is too slow to run at each check that finds writes: it runs at the first of every `VACUUM` such checks. */
const VACUUM = 10;

/**
 * The background work of a Postgres server that PGlite does not do: without checkpoints the write-ahead log grows
 * without limit, and without vacuum the tables do. Returns the function that stops this work. `connection` must not run
 * the statements of this work inside an open transaction.
 */
function startMaintenance(connection: DatabaseConnection, interval = INTERVAL): () => void {
  let kept: unknown;
  let rounds = 0;
  let working = false;

  async function round(): Promise<void> {
    const position = async () => (await connection.query("select pg_current_wal_lsn()::text as position"))[0]?.position;
    if ((await position()) === kept) return;
    rounds += 1;
    if (rounds % VACUUM === 1) await connection.script("vacuum analyze");
    await connection.script("checkpoint");
    // Read again, because checkpoint and vacuum write to the write-ahead log themselves.
    kept = await position();
  }

  const timer = setInterval(() => {
    if (working) return;
    working = true;
    round()
      // The database has failed or closed: other callers get the error.
      .catch(() => undefined)
      .finally(() => {
        working = false;
      });
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
