/** The URLs of the admin API, derived from the table of entities (kong-contract 1.1). */
import { type Collection, collections, entities, nestedLists, references } from "@sluice/model";

/** With the parameters `:entity` (the entity, the parent or the holder) and `:child`. */
export type Endpoint = List | One | Foreign;

/** Entities of a collection, all or those of a parent. */
export interface List {
  readonly kind: "list";
  readonly url: string;
  readonly collection: Collection;
  readonly parent?: Parent;
}

/** One entity. */
export interface One {
  readonly kind: "one";
  readonly url: string;
  readonly collection: Collection;
  readonly parent?: Parent;
}

/** The entity that another one refers to: `/routes/:entity/service`. */
export interface Foreign {
  readonly kind: "foreign";
  readonly url: string;
  readonly collection: Collection;
  readonly holder: { readonly collection: Collection; readonly member: string };
}

/** What entities of the collection refer to by `member`. */
export interface Parent {
  readonly collection: Collection;
  readonly member: string;
}

/** Where a collection's URLs differ from its name. */
const segments: Partial<Record<Collection, { readonly top: string; readonly nested: string }>> = {
  keyauth_credentials: { top: "key-auths", nested: "key-auth" },
};

export const topOf = (collection: Collection): string => segments[collection]?.top ?? collection;
const nestedOf = (collection: Collection): string => segments[collection]?.nested ?? collection;

/** Kong has none: certificates are found by server name as `/certificates/:entity`. */
const withoutForeign: ReadonlySet<Collection> = new Set(["snis"]);

export const endpoints: readonly Endpoint[] = collections.flatMap((collection): readonly Endpoint[] => {
  const top = `/${topOf(collection)}`;
  const nested = nestedLists[collection].flatMap(({ child, member }): readonly Endpoint[] => {
    const url = `${top}/:entity/${nestedOf(child)}`;
    const parent = { collection, member };
    return [
      { kind: "list", url, collection: child, parent },
      { kind: "one", url: `${url}/:child`, collection: child, parent },
    ];
  });
  // Unique within a parent only: a name alone says nothing.
  if (entities[collection].within !== undefined) return nested;
  const foreign = references[collection].map(
    ({ member, to }): Foreign => ({
      kind: "foreign",
      url: `${top}/:entity/${member}`,
      collection: to,
      holder: { collection, member },
    }),
  );
  return [
    { kind: "list", url: top, collection },
    { kind: "one", url: `${top}/:entity`, collection },
    ...nested,
    ...(withoutForeign.has(collection) ? [] : foreign),
  ];
});
