/** Converts entities to rows and back: one column per member; a reference is in the column `<member>_id`. */
import { type Collection, collections, type Entities, type Entity, entities } from "@sluice/model";

/** A row in the form of to_json. */
export type EntityRow = Readonly<Record<string, unknown>>;

interface Column {
  readonly member: string;
  readonly column: string;
  readonly isReference: boolean;
  readonly default: unknown;
}

const columns = Object.fromEntries(
  collections.map((collection) => {
    const { properties = {} } = entities[collection].schema;
    const all = Object.entries(properties).map(([member, { reference, default: value }]): Column => {
      const isReference = reference !== undefined;
      return { member, column: isReference ? `${member}_id` : member, isReference, default: value ?? null };
    });
    return [collection, all];
  }),
) as unknown as Readonly<Record<Collection, readonly Column[]>>;

/** The column of a member; undefined for an unknown member. */
export const columnOf = (collection: Collection, member: string): string | undefined =>
  columns[collection].find((one) => one.member === member)?.column;

/** The row of an entity. The member `_sluice`, which only entities in documents have, has no column. */
export function rowOf(collection: Collection, entity: Entity): EntityRow {
  const members = entity as unknown as EntityRow;
  return Object.fromEntries(
    columns[collection].map(({ member, column, isReference }) => [
      column,
      isReference ? ((members[member] as { readonly id: string } | null)?.id ?? null) : members[member],
    ]),
  );
}

export function entityOfRow<Name extends Collection>(collection: Name, row: EntityRow): Entities[Name] {
  const members = columns[collection].map(({ member, column, isReference, default: fallback }) => {
    // Rows that nodes of an older version wrote have null in the columns of newer members.
    const value = row[column] ?? structuredClone(fallback);
    return [member, isReference && value !== null ? { id: value } : value];
  });
  // Apart from rows of older nodes, the tables only hold validated entities; a test compares the columns of the tables
  // with the schemas.
  return Object.fromEntries(members) as Entities[Name];
}
