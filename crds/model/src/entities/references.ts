/** Which entity refers to which, read from the schemas' `reference` marks. */
import { schemaNode } from "../schema/node.ts";
import { type Collection, collections, entities } from "./index.ts";
import { perCollection } from "./per-collection.ts";

export interface Reference {
  /** The member that holds the reference: `service`. */
  readonly member: string;
  readonly to: Collection;
  /** What becomes of the holder when the other entity is removed. */
  readonly onDelete: "cascade" | "restrict";
}

export interface NestedList {
  /** The collection whose entities may stand inside the parent, and the name of the list. */
  readonly child: Collection;
  /** The reference that the nesting stands for. */
  readonly member: string;
}

/** The references that an entity of a collection may hold. */
export const references = perCollection((collection): readonly Reference[] => {
  const { properties = {} } = schemaNode(entities[collection].schema);
  return Object.entries(properties).flatMap(([member, { reference: to, onDelete = "cascade" }]) =>
    to === undefined ? [] : [{ member, to, onDelete }],
  );
});

/** The lists that may stand inside an entity in a person's file. */
export const nestedLists = perCollection((parent): readonly NestedList[] =>
  collections.flatMap((child) =>
    references[child].filter(({ to }) => to === parent).map(({ member }) => ({ child, member })),
  ),
);
