/** Runs PGlite in a worker thread: it is Postgres in WebAssembly, and a query blocks its thread. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import type { SqlRow } from "./database.ts";

/** One call of the database. Its rows, or the message of its failure, are sent to `port`. */
export interface PgliteCall {
  readonly method: "query" | "script" | "close";
  readonly text: string;
  readonly values: readonly unknown[];
  readonly port: MessagePort;
}

export type PgliteAnswer = { readonly rows: readonly SqlRow[] } | { readonly failure: string };

const { folder } = workerData as { readonly folder: string | undefined };
const pglite = new PGlite(folder);

async function run({ method, text, values }: PgliteCall): Promise<readonly SqlRow[]> {
  if (method === "query") return (await pglite.query<SqlRow>(text, [...values])).rows;
  if (method === "script") await pglite.exec(text);
  else await pglite.close();
  return [];
}

parentPort?.on("message", (call: PgliteCall) => {
  const answer = (message: PgliteAnswer): void => call.port.postMessage(message);
  run(call).then(
    (rows) => answer({ rows }),
    (error: unknown) => {
      answer({ failure: error instanceof Error ? error.message : String(error) });
      // A WebAssembly trap leaves PGlite unusable. Throwing it uncaught ends the thread.
      if (error instanceof Error && error.name === "RuntimeError") throw error;
    },
  );
});
