/** Converts writes to the arguments of the SQL function write_all. */
import { type Collection, collections } from "@sluice/model";
import type { DatabaseConnection } from "../../database/driver.ts";
import { type EntityRow, entityOf, rowOf } from "../../database/rows.ts";
import { etagOf } from "../etag.ts";
import type { Write } from "../store.ts";
import { findStatement, lookUp } from "./statements.ts";
import { idOf, isConditional, type WriteBatch } from "./write-batches.ts";

/** Matches no row: the write is rejected, as if the row had changed between the read and the write. */
const NOTHING: EntityRow = {};

export async function toWriteRequests(connection: DatabaseConnection, batch: WriteBatch): Promise<readonly object[]> {
  const rows = await conditionalRows(connection, batch);
  const requests: object[] = [];
  for (const { write } of batch) {
    const { op, collection } = write;
    const what = op === "remove" ? target(write) : { row: rowOf(collection, write.entity) };
    if (op === "create" || write.etag === undefined) requests.push({ op, collection, ...what });
    else {
      const id = idOf(write);
      const row = id === undefined ? await rowBy(connection, write) : rows.get(`${collection} ${id}`);
      const expected = row && etagOf(entityOf(collection, row)) === write.etag ? row : NOTHING;
      requests.push({ op, collection, ...what, expected });
    }
  }
  return requests;
}

/** The current rows, by collection and id: one query per collection. */
async function conditionalRows(
  connection: DatabaseConnection,
  batch: WriteBatch,
): Promise<ReadonlyMap<string, EntityRow>> {
  const rows = new Map<string, EntityRow>();
  for (const collection of collections) {
    const wanted = batch.flatMap(({ write }) =>
      write.collection === collection && isConditional(write) ? (idOf(write) ?? []) : [],
    );
    if (wanted.length === 0) continue;
    const found = await connection.query(
      `select id::text, to_json(held)::text as row from "${collection}" as held where id = any ($1::uuid[])`,
      [wanted],
    );
    for (const { id, row } of found) rows.set(`${collection} ${id}`, JSON.parse(String(row)) as EntityRow);
  }
  return rows;
}

type Removal = Extract<Write, { op: "remove" }>;

async function rowBy(connection: DatabaseConnection, write: Write): Promise<EntityRow | undefined> {
  const statement = write.op === "remove" ? findStatement(write.collection, write.by) : null;
  const [found] = statement ? await connection.query(statement.text, statement.values) : [];
  return found && (JSON.parse(String(found.row)) as EntityRow);
}

/** Empty when no entity can match. */
function target({ collection, by }: { readonly collection: Collection; readonly by: Removal["by"] }): object {
  const found = lookUp(collection, by);
  if (!found) return {};
  const { column, value, within } = found;
  if (column === "id") return { id: value };
  return { column, value, ...(within && { within_column: within.column, within_id: within.value }) };
}
