/** Translates database errors to write faults. */
import { type Collection, collections, type Entity, entities, references } from "@sluice/model";
import type { Write, WriteFault } from "../store.ts";

/** A fault as the SQL function write_all reports it. */
export interface DatabaseFaultRow {
  readonly index: number;
  /** The SQLSTATE, or a code of write_all: SL001 changed, SL002 removed in the meantime. */
  readonly code: string;
  readonly constraint: string;
  readonly table: string;
  readonly message: string;
}

/**
 * The write fault for a database error. The members that a violated constraint covers are found by the constraint's
 * name (migrations/base-tables.ts).
 */
export function databaseWriteFault(row: DatabaseFaultRow, write: Write): WriteFault {
  const { collection } = write;
  const { singular } = entities[collection];
  switch (row.code) {
    case "23505":
      return takenBy(row, write);
    // 23001 is the code of Postgres 18 for a restricted delete.
    case "23503":
    case "23001":
      return write.op === "remove" ? holderOf(row, collection) : missingOf(row, write);
    case "SL001":
      return { kind: "changed", message: `the ${singular} was changed in the meantime` };
    case "SL002":
      return { kind: "changed", message: `the ${singular} was removed in the meantime` };
    default:
      return { kind: "invalid", violations: [{ path: ["@entity"], message: row.message }] };
  }
}

const member = (entity: Entity, name: string) => (entity as unknown as Readonly<Record<string, unknown>>)[name];

function takenBy({ constraint, message }: DatabaseFaultRow, write: Write): WriteFault {
  const { collection } = write;
  const { unique, uniqueTogether = [] } = entities[collection];
  if (write.op === "remove") return { kind: "invalid", violations: [{ path: ["@entity"], message }] };
  if (constraint === `${collection}_pkey`) return { kind: "primary-key", id: write.entity.id };
  const one = unique.filter((name) => constraint === `${collection}_${name}_key`);
  const members = one.length > 0 ? one : uniqueTogether;
  return { kind: "unique", members: Object.fromEntries(members.map((name) => [name, member(write.entity, name)])) };
}

/** The fault of a removal that is prevented by a reference to the entity, or to one of its dependents. */
function holderOf({ constraint }: DatabaseFaultRow, collection: Collection): WriteFault {
  for (const by of collections)
    for (const { member: name, to } of references[by])
      if (constraint === `${by}_${name}_id_fkey`) return { kind: "referenced", by, collection: to };
  return { kind: "referenced", by: collection, collection };
}

function missingOf({ constraint, message }: DatabaseFaultRow, write: Exclude<Write, { op: "remove" }>): WriteFault {
  const { collection, entity } = write;
  const found = references[collection].find((one) => constraint === `${collection}_${one.member}_id_fkey`);
  if (!found) return { kind: "invalid", violations: [{ path: ["@entity"], message }] };
  const { id } = member(entity, found.member) as { readonly id: string };
  return { kind: "foreign-key", member: found.member, to: found.to, id };
}
