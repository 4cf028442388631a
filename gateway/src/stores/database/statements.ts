/** The read statements. Names of tables and columns come from the schemas; all values are parameters. */

import type { Collection } from "@sluice/model";
import { columnOf } from "../../database/rows.ts";
import type { ListOptions, Lookup } from "../store.ts";
import { unstorableReason } from "../unstorable-text.ts";

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The database refuses to compare a uuid with text that is not a uuid. Such text is the id of no entity. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** The database can hold neither NUL nor lone surrogates: no entity has such a value. */
export const isStorable = (text: string): boolean => unstorableReason(text) === undefined;

/** Expired keys are left out, by the same rule as in the nodes. */
const ALIVE = "(ttl is null or created_at + ttl > extract(epoch from clock_timestamp()) - 1)";

/** Reads the rows of the page and one more, ordered by id, each as JSON text; null when no row can match. */
export function listStatement(collection: Collection, { size, after, where, tags }: ListOptions): Statement | null {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions = collection === "keyauth_credentials" ? [ALIVE] : [];
  if (after !== undefined) {
    if (!isStorable(after)) return null;
    // Text that is not a uuid is compared with the text form of the ids.
    conditions.push(isUuid(after) ? `id > ${bind(after)}::uuid` : `id::text > ${bind(after)}`);
  }
  if (where) {
    const column = columnOf(collection, where.member);
    if (column === undefined || !isUuid(where.id)) return null;
    conditions.push(`"${column}" = ${bind(where.id)}::uuid`);
  }
  if (tags) {
    const storable = tags.tags.filter(isStorable);
    if (tags.match === "every" ? storable.length < tags.tags.length : storable.length === 0) return null;
    conditions.push(`tags ${tags.match === "every" ? "@>" : "&&"} ${bind(storable)}::text[]`);
  }
  const condition = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
  const text = `select to_json(held)::text as row from "${collection}" as held${condition} order by id limit ${bind(size + 1)}`;
  return { text, values };
}

export function findStatement(collection: Collection, by: Lookup): Statement | null {
  const found = columnLookupOf(collection, by);
  if (found === null) return null;
  const alive = collection === "keyauth_credentials" ? ` and ${ALIVE}` : "";
  const within = found.within ? ` and "${found.within.column}" = $2::uuid` : "";
  const type = found.column === "id" ? "uuid" : "text";
  return {
    text: `select to_json(held)::text as row from "${collection}" as held where "${found.column}" = $1::${type}${within}${alive}`,
    values: found.within ? [found.value, found.within.value] : [found.value],
  };
}

export interface ColumnLookup {
  readonly column: string;
  readonly value: string;
  readonly within?: { readonly column: string; readonly value: string };
}

/** The columns and values by which the entity is found; null when no entity can match. */
export function columnLookupOf(collection: Collection, by: Lookup): ColumnLookup | null {
  if ("id" in by) return isUuid(by.id) ? { column: "id", value: by.id } : null;
  const column = columnOf(collection, by.member);
  if (column === undefined || !isStorable(by.value)) return null;
  if (column === "id" && !isUuid(by.value)) return null;
  if (!by.within) return { column, value: by.value };
  const parent = columnOf(collection, by.within.member);
  if (parent === undefined || !isUuid(by.within.id)) return null;
  return { column, value: by.value, within: { column: parent, value: by.within.id } };
}
