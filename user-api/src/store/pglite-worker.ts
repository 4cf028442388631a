/** Runs PGlite in a worker thread: it is Postgres in WebAssembly, and a query blocks its thread. */
import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";

const port = parentPort;
if (port === null) throw new Error("pglite-worker.ts is started by pglite.ts as a thread, not by itself");
const say = (answer: Answer): void => port.postMessage(answer);
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const { folder } = workerData as { readonly folder: string | undefined };
const pglite = new PGlite(folder);

async function run({ method, text, values }: Call): Promise<readonly Record<string, unknown>[]> {
  switch (method) {
    case "query":
      return (await pglite.query<Record<string, unknown>>(text, [...values])).rows;
    case "script":
      await pglite.exec(text);
      return [];
    case "close":
      await pglite.close();
      return [];
  }
}

port.on("message", (call: Call) => {
  run(call).then(
    (rows) => say({ id: call.id, rows }),
    (error: unknown) => {
      say({ id: call.id, failure: sentence(error) });
      // A WebAssembly trap leaves PGlite unusable. Throwing it uncaught ends the thread.
      if (error instanceof Error && error.name === "RuntimeError") throw error;
    },
  );
});

pglite.waitReady.then(
  () => say({ id: 0, rows: [] }),
  (error: unknown) => say({ id: 0, failure: sentence(error) }),
);

export interface Call {
  readonly id: number;
  readonly method: "query" | "script" | "close";
  readonly text: string;
  readonly values: readonly unknown[];
}

/** `id` 0 is the response to the start. */
export type Answer =
  | { readonly id: number; readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly failure?: undefined }
  | { readonly id: number; readonly rows?: undefined; readonly failure: string };
