/** The short way in. */
import type { Collection } from "@sluice/model";
import type { Effect, Write } from "../store.ts";
import { type Connection, DatabaseFault } from "./driver.ts";
import { type EntityRow, entityOf, rowOf } from "./rows.ts";

export interface Created {
  readonly effects: readonly [Effect];
  readonly revision: number;
  readonly fault?: undefined;
}

/**
 * One entity that is made, as most are: a statement of its own takes half the time of write_all. Undefined when it
 * is no creation, or when it is refused: write_all tells why.
 */
export async function createOne(connection: Connection, write: Write | undefined): Promise<Created | undefined> {
  if (write?.op !== "create") return undefined;
  const { collection, entity } = write;
  try {
    const [row] = await connection.query(createStatement(collection), [JSON.stringify(rowOf(collection, entity))]);
    const after = entityOf(collection, JSON.parse(String(row?.row)) as EntityRow);
    return { effects: [{ collection, before: null, after, along: [] }], revision: Number(row?.revision) };
  } catch (error) {
    if (error instanceof DatabaseFault && REFUSED.test(error.facts.code)) return undefined;
    throw error;
  }
}

/** SQLSTATE classes that write_all answers as faults. */
const REFUSED = /^(22|23|54)/;

/** The revision is taken first, as everybody does: writers go one after the other. */
const createStatement = (
  collection: Collection,
): string => `with taken as materialized (select take_revision() as number),
  made as (
    insert into "${collection}" select given.*
      from taken, jsonb_populate_record(null::"${collection}", $1::jsonb) as given
      returning to_json("${collection}")::text as row
  )
  select taken.number as revision, made.row from taken, made`;
