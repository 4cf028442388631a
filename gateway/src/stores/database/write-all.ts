/** Performs many writes in one transaction, with as few statements as possible (migrations/base-write.ts). */
import type { Collection, Entity } from "@sluice/model";
import { type Database, type DatabaseConnection, DatabaseFault, isRetryable } from "../../database/driver.ts";
import { type EntityRow, entityOfRow, rowOf } from "../../database/rows.ts";
import type { Effect, Write, WriteFault } from "../store.ts";
import { unstorableTexts } from "../unstorable-text.ts";
import { type DatabaseFaultRow, databaseWriteFault } from "./write-faults.ts";
import { splitIntoBatches, toWriteRequests } from "./write-requests.ts";

export type WriteAllResult =
  | { readonly effects: readonly Effect[]; readonly revision: number; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly index: number; readonly effects?: undefined };

/** Maximum attempts for one transaction. */
const TRIES = 3;

/** Carries a result out of a transaction that is rolled back. */
class RollBack extends Error {
  readonly done: WriteAllResult;
  constructor(done: WriteAllResult) {
    super("rolled back");
    this.done = done;
  }
}

export interface WriteAllOptions {
  readonly plan: boolean;
  /** The author of the revision; empty: the user of the database. */
  readonly author: string;
}

/**
 * @throws DatabaseFault if tables are missing or the last attempt fails; DatabaseUnreachable if the database does not
 * answer.
 */
export async function writeAll(
  database: Database,
  writes: readonly Write[],
  options: WriteAllOptions,
): Promise<WriteAllResult> {
  const { plan, author } = options;
  const unstorable = firstUnstorable(writes);
  if (unstorable) return unstorable;
  const batches = splitIntoBatches(writes);
  const [only] = batches;
  if (!only) return { effects: [], revision: 0 };
  for (let left = TRIES; ; left--) {
    try {
      const created = plan || batches.length > 1 ? undefined : await createEntities(database, writes, author);
      if (created) return created;
      if (batches.length === 1 && !plan) return await writeBatch(database, only, author);
      return await database.transaction((connection) => writeBatches(connection, batches, options));
    } catch (error) {
      if (error instanceof RollBack) return error.done;
      if (left === 1 || !isRetryable(error)) throw error;
    }
  }
}

function firstUnstorable(writes: readonly Write[]): WriteAllResult | undefined {
  for (const [index, write] of writes.entries()) {
    const violations = write.op === "remove" ? [] : unstorableTexts(write.entity);
    if (violations.length > 0) return { fault: { kind: "invalid", violations }, index };
  }
  return undefined;
}

async function writeBatches(
  connection: DatabaseConnection,
  batches: readonly (readonly Write[])[],
  { plan, author }: WriteAllOptions,
): Promise<WriteAllResult> {
  const effects: Effect[] = [];
  let revision = 0;
  for (const batch of batches) {
    const done = await writeBatch(connection, batch, author);
    if (done.fault) throw new RollBack({ ...done, index: effects.length + done.index });
    effects.push(...done.effects);
    revision = done.revision;
  }
  if (plan) throw new RollBack({ effects, revision });
  return { effects, revision };
}

/** The result of the SQL function write_all. */
type FunctionResult =
  | { readonly fault: DatabaseFaultRow; readonly effects?: undefined }
  | { readonly effects: readonly EffectRow[]; readonly revision: number; readonly fault?: undefined };

interface EffectRow {
  readonly before: EntityRow | null;
  readonly after: EntityRow | null;
  readonly along: readonly { readonly collection: Collection; readonly row: EntityRow }[];
}

async function writeBatch(
  connection: DatabaseConnection,
  batch: readonly Write[],
  author: string,
): Promise<WriteAllResult> {
  const requests = await toWriteRequests(connection, batch);
  const [row] = await connection.query("select write_all_as($2, $1::jsonb)::text as result", [
    JSON.stringify(requests),
    author,
  ]);
  const result = JSON.parse(String(row?.result)) as FunctionResult;
  if (result.fault) {
    const { index } = result.fault;
    return { fault: databaseWriteFault(result.fault, batch[index] as Write), index };
  }
  const effects = result.effects.map((effect, place): Effect => effectOf(effect, (batch[place] as Write).collection));
  return { effects, revision: result.revision };
}

function effectOf({ before, after, along }: EffectRow, collection: Collection): Effect {
  const entity = (row: EntityRow | null): Entity | null => (row === null ? null : entityOfRow(collection, row));
  return {
    collection,
    before: entity(before),
    after: entity(after),
    along: along.map((one) => ({ collection: one.collection, entity: entityOfRow(one.collection, one.row) })),
  };
}

/**
 * Creates entities of one collection, the most common write: a dedicated statement takes a fraction of the time of
 * write_all. Undefined for other writes, or when a write is rejected: write_all then reports the reason.
 */
async function createEntities(
  connection: DatabaseConnection,
  writes: readonly Write[],
  author: string,
): Promise<WriteAllResult | undefined> {
  const collection = writes[0]?.collection;
  const given = writes.flatMap((one) => (one.op === "create" && one.collection === collection ? [one.entity] : []));
  if (!collection || given.length < writes.length) return undefined;
  try {
    const rows = given.map((entity) => rowOf(collection, entity));
    const made = await connection.query(createStatement(collection), [JSON.stringify(rows), author]);
    const created = made.map(({ row }): Entity => entityOfRow(collection, JSON.parse(String(row)) as EntityRow));
    const after = new Map(created.map((entity) => [entity.id, entity]));
    const effects = given.map(({ id }): Effect => {
      return { collection, before: null, after: after.get(id.toLowerCase()) as Entity, along: [] };
    });
    return { effects, revision: Number(made[0]?.revision) };
  } catch (error) {
    if (error instanceof DatabaseFault && REFUSED.test(error.facts.code)) return undefined;
    throw error;
  }
}

/** SQLSTATE classes that write_all reports as faults. */
const REFUSED = /^(22|23|54)/;

/** Obtains the revision first, as all writers do, so that writers are serialized. */
const createStatement = (
  collection: Collection,
): string => `with taken as materialized (select take_revision_as($2) as number),
  made as (
    insert into "${collection}" select given.*
      from taken, jsonb_populate_recordset(null::"${collection}", $1::jsonb) as given
      returning to_json("${collection}")::text as row
  )
  select taken.number as revision, made.row from taken, made`;
