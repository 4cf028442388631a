/** Revisions in a database, where triggers record them (database/migrations/revision-tables.ts). */
import type { Collection, Entity } from "@sluice/model";
import type { Database, DatabaseRow } from "../../database/driver.ts";
import { type EntityRow, entityOfRow } from "../../database/rows.ts";
import {
  type EntityChange,
  MAX_READ_CHANGES,
  notKept,
  type RevisionLimits,
  type Revisions,
  type StoreRevision,
  tooManyChanges,
} from "../revisions/revisions.ts";

/** The revisions within the limits. The newest one is always among them: it is the present state. */
const within = `(
  select number, last, made_at, author, kept from (
    select revisions.*, row_number() over newest_first as place,
        coalesce(lag(number) over newest_first - 1, (select number from revision)) as last
      from revisions window newest_first as (order by number desc)
  ) as numbered
  where place = 1 or (place <= $1 and made_at > clock_timestamp() - $2 * interval '1 ms')
)`;

/** The condition selects rows of `held`. */
const select = (condition: string): string => `
  select number, last, (extract(epoch from made_at) * 1000)::bigint as time, author, kept, created, changed, deleted
  from (select * from ${within} as held where ${condition}) as found
  cross join lateral (
    select count(*) filter (where before is null) as created, count(*) filter (where after is null) as deleted,
      count(*) filter (where before is not null and after is not null) as changed
    from revision_changes where revision between found.number and found.last
  ) as counted
  order by number desc`;

/** The highest value of a bigint. */
const NO_REVISION = "9223372036854775807";

export function createDatabaseRevisions(database: Database, limits: RevisionLimits): Revisions {
  const bounds = [limits.number, limits.age];
  return {
    async list({ size, before }) {
      const rows = await database.query(select("$3::bigint is null or number < $3 order by number desc limit $4"), [
        ...bounds,
        before ?? null,
        size + 1,
      ]);
      return { revisions: rows.slice(0, size).map(revisionOf), more: rows.length > size };
    },

    async find(number) {
      const [row] = await database.query(select("number = $3"), [...bounds, number]);
      return row ? revisionOf(row) : null;
    },

    async changes({ after, to }) {
      const [lost] = await database.query(
        "select number, author from revisions where number > $1 and number <= $2 and not kept order by 1 desc limit 1",
        [after, to],
      );
      if (lost) return { missing: notKept({ number: Number(lost.number), author: String(lost.author) }) };
      const rows = await database.query(
        `select collection, id::text, before::text, after::text from revision_changes
           where revision >= (select coalesce(min(number), ${NO_REVISION}) from revisions where number > $1)
             and revision < (select coalesce(min(number), ${NO_REVISION}) from revisions where number > $2)
           order by revision limit $3`,
        [after, to, MAX_READ_CHANGES + 1],
      );
      if (rows.length > MAX_READ_CHANGES) return { missing: tooManyChanges(after, to) };
      return { changes: rows.map(changeOf) };
    },
  };
}

const revisionOf = (row: DatabaseRow): StoreRevision => ({
  number: Number(row.number),
  last: Number(row.last),
  time: Number(row.time),
  author: String(row.author),
  counts:
    row.kept === true
      ? { created: Number(row.created), changed: Number(row.changed), deleted: Number(row.deleted) }
      : null,
});

function changeOf(row: DatabaseRow): EntityChange {
  const collection = row.collection as Collection;
  const entity = (text: unknown): Entity | null =>
    text === null ? null : entityOfRow(collection, JSON.parse(String(text)) as EntityRow);
  return { collection, id: String(row.id), before: entity(row.before), after: entity(row.after) };
}

/** Maximum number of rows that one statement deletes, so that writers do not wait for it. */
const PIECE = 2000;

/** Deletes the revisions beyond the limits, in pieces. */
export async function deleteOldRevisions(database: Database, limits: RevisionLimits): Promise<void> {
  await database.query(
    `delete from revisions where number < (select max(number) from revisions)
       and not exists (select from ${within} as held where held.number = revisions.number)`,
    [limits.number, limits.age],
  );
  for (;;) {
    const gone = await database.query(
      `delete from revision_changes where (revision, collection, id) in (
         select revision, collection, id from revision_changes
           where revision < (select min(number) from revisions) limit $1
       ) returning 1`,
      [PIECE],
    );
    if (gone.length < PIECE) return;
  }
}
