/** The references between entities, from the schemas' `reference` keywords. */
import { schemaNode } from "../schema/node.ts";
import { type Collection, collections, entities } from "./index.ts";
import { perCollection } from "./per-collection.ts";

export interface Reference {
  /** The member that holds the reference: `service`. */
  readonly member: string;
  readonly to: Collection;
  /** The effect on the referring entity when the other entity is removed. */
  readonly onDelete: "cascade" | "restrict";
}

export interface NestedList {
  /** The collection that may be nested in the parent, and the name of the list. */
  readonly child: Collection;
  /** The reference that the nesting replaces. */
  readonly member: string;
}

/** The references of a collection's entities. */
export const references = perCollection((collection): readonly Reference[] => {
  const { properties = {} } = schemaNode(entities[collection].schema);
  return Object.entries(properties).flatMap(([member, { reference: to, onDelete = "cascade" }]) =>
    to === undefined ? [] : [{ member, to, onDelete }],
  );
});

/** The lists that may be nested in an entity of a declarative file. */
export const nestedLists = perCollection((parent): readonly NestedList[] =>
  collections.flatMap((child) =>
    references[child].filter(({ to }) => to === parent).map(({ member }) => ({ child, member })),
  ),
);
