/** Runs PGlite in a separate thread: it is Postgres in WebAssembly, and a statement blocks the thread that runs it. */
import { parentPort, workerData } from "node:worker_threads";
import { PGlite, types } from "@electric-sql/pglite";
import { type DatabaseRow, sqlErrorDetails } from "../driver.ts";
import { durableOptions, syncAll } from "./durable-files.ts";
import { hasDatabase } from "./folder.ts";
import { batchPerTurn, type EmbeddedCall, type EmbeddedReply, type EmbeddedStart } from "./protocol.ts";
import { createStatements } from "./statements.ts";

const port = parentPort;
if (port === null) throw new Error("embedded-main.ts must be started as a thread, by embedded.ts");
const reply = batchPerTurn((replies: readonly EmbeddedReply[]) => port.postMessage(replies));

function replyFailure(id: number, error: unknown): void {
  const facts = sqlErrorDetails(error);
  const failure = error instanceof Error ? error.message : String(error);
  reply({ id, failure, ...(facts && { facts }) });
}

const { files, schema } = workerData as EmbeddedStart;
const isNew = files !== undefined && !hasDatabase(files);
const pglite = new PGlite({ ...(files !== undefined && durableOptions(files)), parsers: { [types.INT8]: Number } });
const query = createStatements(pglite);

async function run({ method, text, values }: EmbeddedCall): Promise<readonly DatabaseRow[]> {
  switch (method) {
    case "query":
      return query(text, values);
    case "script":
      await pglite.exec(text);
      return [];
    case "listen":
      await pglite.listen(text, (payload) => reply({ channel: text, payload }));
      return [];
    case "close":
      await pglite.close();
      return [];
  }
}

port.on("message", (calls: readonly EmbeddedCall[]) => {
  for (const call of calls)
    run(call).then(
      (rows) => reply({ id: call.id, rows }),
      (error: unknown) => replyFailure(call.id, error),
    );
});

pglite.waitReady
  .then(() => (isNew ? syncAll(files) : undefined))
  .then(() => pglite.query("select set_config('search_path', quote_ident($1), false)", [schema]))
  .then(
    () => reply({ id: 0, rows: [] }),
    (error: unknown) => replyFailure(0, error),
  );
