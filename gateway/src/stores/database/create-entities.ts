/** The short way in. */
import type { Collection } from "@sluice/model";
import type { Effect, Write } from "../store.ts";
import { type Connection, DatabaseFault } from "./driver.ts";
import { type EntityRow, entityOf, rowOf } from "./rows.ts";

export interface CreatedEntities {
  readonly effects: readonly Effect[];
  readonly revision: number;
  readonly fault?: undefined;
}

/**
 * Entities of one collection that are made, as most are: a statement of its own takes a fraction of the time of
 * write_all. Undefined when they are something else, or when one is refused: write_all tells why.
 */
export async function createEntities(
  connection: Connection,
  writes: readonly Write[],
): Promise<CreatedEntities | undefined> {
  const [first] = writes;
  if (!first || !writes.every(({ op, collection }) => op === "create" && collection === first.collection))
    return undefined;
  const { collection } = first;
  const given = writes.flatMap((write) => (write.op === "create" ? [write.entity] : []));
  try {
    const rows = given.map((entity) => rowOf(collection, entity));
    const made = await connection.query(createStatement(collection), [JSON.stringify(rows)]);
    const after = new Map(
      made.map(({ row }) => {
        const entity = entityOf(collection, JSON.parse(String(row)) as EntityRow);
        return [entity.id, entity];
      }),
    );
    const effects = given.map(({ id }): Effect => {
      const entity = after.get(id.toLowerCase());
      if (!entity) throw new Error(`the database tells of no row for the ${collection} ${id}`);
      return { collection, before: null, after: entity, along: [] };
    });
    return { effects, revision: Number(made[0]?.revision) };
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
      from taken, jsonb_populate_recordset(null::"${collection}", $1::jsonb) as given
      returning to_json("${collection}")::text as row
  )
  select taken.number as revision, made.row from taken, made`;
