/**
 * The reads of a node: first all entities, and then the changes since the previous read. The result of each read comes
 * from one statement, so it shows one state of the tables.
 */
import { type Change, type Collection, collections, type Document } from "@sluice/model";
import type { DatabaseConnection, DatabaseRow } from "./driver.ts";
import { type EntityRow, entityOfRow } from "./rows.ts";

/** A state of the tables: its number, and the epoch of the numbering (a reset starts a new one). */
export interface Revision {
  readonly number: number;
  readonly epoch: string;
}

export type ChangesReading =
  | { readonly revision: Revision; readonly document: Document; readonly change?: undefined }
  | { readonly revision: Revision; readonly change: Change; readonly document?: undefined };

/** The rows of a collection as JSON. Those of certificates have the challenges of their orders, too. */
const rowsOf = (name: Collection, condition: string): string =>
  name === "certificates"
    ? `select to_json(held)::text from (select certificates.*, acme_orders.challenges as acme_challenges
        from certificates left join acme_orders on acme_orders.certificate_id = certificates.id) as held ${condition}`
    : `select to_json(held)::text from "${name}" as held ${condition}`;

const changed = `select revision.number, revision.complete_after, revision.epoch::text, logged.collection, logged.id::text,
    case logged.collection ${collections
      .map((name) => `when '${name}' then (${rowsOf(name, "where held.id = logged.id")})`)
      .join("\n      ")} end as row
  from revision
  left join (select distinct collection, id from changes 
      -- The upper bound exceeds every number in the log: with both bounds, Postgres always uses the index.
      where changes.revision > $1 and changes.revision <= $1 + 1000000) as logged on true`;

const everything = [
  "select number, epoch::text, null as collection, null as row from revision",
  ...collections.map((name) => `select null, null, '${name}', held.row from (${rowsOf(name, "")}) as held(row)`),
].join("\nunion all ");

/**
 * The changes since a revision. All entities if `since` is null, of another epoch, higher than the present revision, or
 * older than the log of changes.
 */
export async function readChanges(connection: DatabaseConnection, since: Revision | null): Promise<ChangesReading> {
  if (since === null) return readEverything(connection);
  const rows = await connection.query(changed, [since.number]);
  const [first] = rows;
  if (!first) throw new Error("the table revision is empty");
  const revision = revisionOf(first);
  const follows = revision.epoch === since.epoch && revision.number >= since.number;
  if (!follows || since.number < Number(first.complete_after)) return readEverything(connection);
  const logged = rows.filter(({ collection }) => collection !== null);
  return {
    revision,
    change: {
      put: group(logged.filter(({ row }) => row !== null)),
      remove: Object.fromEntries(
        collections.map((name) => [
          name,
          logged.flatMap(({ collection, id, row }) => (collection === name && row === null ? [String(id)] : [])),
        ]),
      ),
    },
  };
}

async function readEverything(connection: DatabaseConnection): Promise<ChangesReading> {
  const rows = await connection.query(everything);
  const head = rows.find(({ collection }) => collection === null);
  if (!head) throw new Error("the table revision is empty");
  const document = { _format_version: "3.0", ...group(rows.filter(({ collection }) => collection !== null)) };
  return { revision: revisionOf(head), document };
}

const revisionOf = ({ number, epoch }: DatabaseRow): Revision => ({ number: Number(number), epoch: String(epoch) });

const group = (rows: readonly DatabaseRow[]): Readonly<Partial<Record<Collection, readonly unknown[]>>> =>
  Object.fromEntries(
    [...Map.groupBy(rows, ({ collection }) => collection as Collection)].map(([name, list]) => [
      name,
      list.map(({ row }) => documentEntityOf(name, JSON.parse(String(row)) as EntityRow)),
    ]),
  );

function documentEntityOf(collection: Collection, row: EntityRow): unknown {
  const entity = entityOfRow(collection, row);
  const { acme_challenges: challenges = null } = row;
  return challenges === null ? entity : { ...entity, _sluice: { challenges } };
}
