/** Splits writes into statements, and converts them to the arguments of the SQL function write_all. */
import { type Collection, collections } from "@sluice/model";
import type { DatabaseConnection } from "../../database/driver.ts";
import { type EntityRow, entityOfRow, rowOf } from "../../database/rows.ts";
import { etagOf } from "../etag.ts";
import type { Write } from "../store.ts";
import { columnLookupOf, findStatement, isUuid } from "./statements.ts";

/** Maximum writes per statement, so that it completes within the timeout. */
const MOST = 500;

/**
 * The writes of each statement, in the given order. The expected row of a conditional write is read before its
 * statement runs, so no earlier write of the same statement may change it.
 */
export function splitIntoBatches(writes: readonly Write[]): readonly (readonly Write[])[] {
  const batches: Write[][] = [];
  let written = new Set<string>();
  for (const write of writes) {
    const key = keyOf(write);
    const open = batches.at(-1);
    const clashes = isConditional(write) && (key === undefined || written.has(key));
    if (!open || clashes || open.length === MOST) {
      batches.push([write]);
      written = new Set();
    } else open.push(write);
    if (key !== undefined) written.add(key);
  }
  return batches;
}

/** Whether the write has an etag that the entity must match. */
const isConditional = (write: Write): boolean => write.op !== "create" && write.etag !== undefined;

/** The collection and id of the entity; undefined for a removal by name, or by an id that is not a UUID. */
function keyOf(write: Write): string | undefined {
  const id = idOf(write);
  return id === undefined ? undefined : `${write.collection} ${id}`;
}

function idOf(write: Write): string | undefined {
  if (write.op !== "remove") return write.entity.id.toLowerCase();
  return "id" in write.by && isUuid(write.by.id) ? write.by.id.toLowerCase() : undefined;
}

/** Matches no row: the write is rejected, as if the row had changed between the read and the write. */
const NOTHING: EntityRow = {};

export async function toWriteRequests(
  connection: DatabaseConnection,
  batch: readonly Write[],
): Promise<readonly object[]> {
  const rows = await conditionalRows(connection, batch);
  const requests: object[] = [];
  for (const write of batch) {
    const { op, collection } = write;
    const what = op === "remove" ? target(write) : { row: rowOf(collection, write.entity) };
    if (op === "create" || write.etag === undefined) requests.push({ op, collection, ...what });
    else {
      const key = keyOf(write);
      const row = key === undefined ? await rowBy(connection, write) : rows.get(key);
      const expected = row && etagOf(entityOfRow(collection, row)) === write.etag ? row : NOTHING;
      requests.push({ op, collection, ...what, expected });
    }
  }
  return requests;
}

/** The current rows of the entities of conditional writes, by collection and id; read with one query per collection. */
async function conditionalRows(
  connection: DatabaseConnection,
  batch: readonly Write[],
): Promise<ReadonlyMap<string, EntityRow>> {
  const rows = new Map<string, EntityRow>();
  for (const collection of collections) {
    const wanted = batch.flatMap((write) =>
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

function target({ collection, by }: { readonly collection: Collection; readonly by: Removal["by"] }): object {
  const found = columnLookupOf(collection, by);
  if (!found) return {};
  const { column, value, within } = found;
  if (column === "id") return { id: value };
  return { column, value, ...(within && { within_column: within.column, within_id: within.value }) };
}
