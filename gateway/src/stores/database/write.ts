/** Many writes in one transaction, by as few statements as can be (migrations/base-write.ts). */
import { type Collection, type Entity, entities } from "@sluice/model";
import { etagOf } from "../etag.ts";
import type { Effect, Write, WriteFault } from "../store.ts";
import { createOne } from "./create-one.ts";
import { type Connection, type Database, DatabaseFault } from "./driver.ts";
import { faultOf, findUnstorable, type ToldFault } from "./faults.ts";
import { type EntityRow, entityOf, rowOf } from "./rows.ts";
import { findStatement, lookUp } from "./statements.ts";

export type Done =
  | { readonly effects: readonly Effect[]; readonly revision: number; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly index: number; readonly effects?: undefined };

/** Writes in one statement: a statement must be done within the timeout. */
const BATCH = 500;

/** SQLSTATEs of transactions that only have to be tried again: serialization failure, deadlock. */
const AGAIN = new Set(["40001", "40P01"]);
const TRIES = 3;

/** Carries a result out of a transaction that is to be rolled back. */
class RollBack extends Error {
  readonly done: Done;
  constructor(done: Done) {
    super("rolled back");
    this.done = done;
  }
}

/** @throws DatabaseFault when the tables are not there, DatabaseUnreachable. */
export async function writeAll(database: Database, writes: readonly Write[], plan: boolean): Promise<Done> {
  const unstorable = firstUnstorable(writes);
  if (unstorable) return unstorable;
  const batches = batchesOf(writes);
  const [only] = batches;
  if (!only) return { effects: [], revision: 0 };
  for (let left = TRIES; ; left--) {
    try {
      const created = plan || writes.length > 1 ? undefined : await createOne(database, writes[0]);
      if (created) return created;
      if (batches.length === 1 && !plan) return await writeBatch(database, only);
      return await database.transaction((connection) => writeBatches(connection, batches, plan));
    } catch (error) {
      if (error instanceof RollBack) return error.done;
      if (left === 1 || !(error instanceof DatabaseFault) || !AGAIN.has(error.facts.code)) throw error;
    }
  }
}

function firstUnstorable(writes: readonly Write[]): Done | undefined {
  for (const [index, write] of writes.entries()) {
    const violations = write.op === "remove" ? [] : findUnstorable(write.entity);
    if (violations.length > 0) return { fault: { kind: "invalid", violations }, index };
  }
  return undefined;
}

/** Writes with their places. One with an etag stands alone: what it expects may follow from those before it. */
type Batch = readonly { readonly write: Write; readonly index: number }[];

function batchesOf(writes: readonly Write[]): readonly Batch[] {
  const batches: { write: Write; index: number }[][] = [];
  let open: { write: Write; index: number }[] | undefined;
  for (const [index, write] of writes.entries()) {
    const alone = isConditional(write);
    if (!open || alone || open.length === BATCH) {
      open = [];
      batches.push(open);
    }
    open.push({ write, index });
    if (alone) open = undefined;
  }
  return batches;
}

const isConditional = (write: Write): boolean => write.op !== "create" && write.etag !== undefined;

async function writeBatches(connection: Connection, batches: readonly Batch[], plan: boolean): Promise<Done> {
  const effects: Effect[] = [];
  let revision = 0;
  for (const batch of batches) {
    const done = await writeBatch(connection, batch);
    if (done.fault) throw new RollBack(done);
    effects.push(...done.effects);
    revision = done.revision;
  }
  if (plan) throw new RollBack({ effects, revision });
  return { effects, revision };
}

/** What the function write_all answers. */
type Told =
  | { readonly fault: ToldFault; readonly effects?: undefined }
  | { readonly effects: readonly ToldEffect[]; readonly revision: number; readonly fault?: undefined };

interface ToldEffect {
  readonly before: EntityRow | null;
  readonly after: EntityRow | null;
  readonly along: readonly { readonly collection: Collection; readonly row: EntityRow }[];
}

async function writeBatch(connection: Connection, batch: Batch): Promise<Done> {
  const requests: object[] = [];
  for (const { write, index } of batch) {
    const { request, fault } = await requestOf(connection, write);
    if (fault) return { fault, index };
    requests.push(request);
  }
  const [row] = await connection.query("select write_all($1::jsonb)::text as told", [JSON.stringify(requests)]);
  const told = JSON.parse(String(row?.told)) as Told;
  if (told.fault) {
    const failed = batch[told.fault.index];
    if (!failed) throw new Error(`the database tells of a fault of no write: ${told.fault.message}`);
    return { fault: faultOf(told.fault, failed.write), index: failed.index };
  }
  const effects = told.effects.map((effect, place): Effect => effectOf(effect, batch[place]?.write.collection));
  return { effects, revision: told.revision };
}

function effectOf({ before, after, along }: ToldEffect, collection: Collection | undefined): Effect {
  if (!collection) throw new Error("the database tells of an effect of no write");
  const entity = (row: EntityRow | null): Entity | null => (row === null ? null : entityOf(collection, row));
  return {
    collection,
    before: entity(before),
    after: entity(after),
    along: along.map((one) => ({ collection: one.collection, entity: entityOf(one.collection, one.row) })),
  };
}

type Request =
  | { readonly request: object; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly request?: undefined };

/** One write as write_all takes it. With an etag, what stands there now must be what the etag says, and still then. */
async function requestOf(connection: Connection, write: Write): Promise<Request> {
  const { op, collection } = write;
  const what = op === "remove" ? target(write) : { row: rowOf(collection, write.entity) };
  if (op === "create" || write.etag === undefined) return { request: { op, collection, ...what } };
  const { singular } = entities[collection];
  const statement = findStatement(collection, op === "remove" ? write.by : { id: write.entity.id });
  const [found] = statement ? await connection.query(statement.text, statement.values) : [];
  if (!found) return { fault: { kind: "changed", message: `the ${singular} was removed in the meantime` } };
  const expected = JSON.parse(String(found.row)) as EntityRow;
  if (etagOf(entityOf(collection, expected)) !== write.etag)
    return { fault: { kind: "changed", message: `the ${singular} was changed in the meantime` } };
  return { request: { op, collection, ...what, expected } };
}

/** Empty when nothing can be found so. */
function target({ collection, by }: Extract<Write, { op: "remove" }>): object {
  const found = lookUp(collection, by);
  if (!found) return {};
  const { column, value, within } = found;
  if (column === "id") return { id: value };
  return { column, value, ...(within && { within_column: within.column, within_id: within.value }) };
}
