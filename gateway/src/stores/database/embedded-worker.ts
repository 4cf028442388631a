/** Runs PGlite in a thread of its own: it is Postgres in WebAssembly, and a statement blocks the thread it runs in. */
import { parentPort, workerData } from "node:worker_threads";
import { PGlite, types } from "@electric-sql/pglite";
import type { Row } from "./driver.ts";
import { durableIn, syncAll } from "./embedded-files.ts";
import { isMade } from "./embedded-folder.ts";
import { type Call, type Said, type Start, together } from "./embedded-protocol.ts";
import { createStatements } from "./embedded-statements.ts";
import { factsOf } from "./fault-facts.ts";

const port = parentPort;
if (port === null) throw new Error("embedded-worker.ts is started by embedded.ts as a thread, not by itself");
const say = together((said: readonly Said[]) => port.postMessage(said));

function sayFailure(id: number, error: unknown): void {
  const facts = factsOf(error);
  const failure = error instanceof Error ? error.message : String(error);
  say({ id, failure, ...(facts && { facts }) });
}

const { files, schema } = workerData as Start;
const isNew = files !== undefined && !isMade(files);
const pglite = new PGlite({ ...(files !== undefined && durableIn(files)), parsers: { [types.INT8]: Number } });
const query = createStatements(pglite);

async function run({ method, text, values }: Call): Promise<readonly Row[]> {
  switch (method) {
    case "query":
      return query(text, values);
    case "script":
      await pglite.exec(text);
      return [];
    case "listen":
      await pglite.listen(text, (payload) => say({ channel: text, payload }));
      return [];
    case "close":
      await pglite.close();
      return [];
  }
}

port.on("message", (calls: readonly Call[]) => {
  for (const call of calls)
    run(call).then(
      (rows) => say({ id: call.id, rows }),
      (error: unknown) => sayFailure(call.id, error),
    );
});

pglite.waitReady
  .then(() => (isNew ? syncAll(files) : undefined))
  .then(() => pglite.query("select set_config('search_path', quote_ident($1), false)", [schema]))
  .then(
    () => say({ id: 0, rows: [] }),
    (error: unknown) => sayFailure(0, error),
  );
