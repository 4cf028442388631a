/** The URLs of the admin API, derived from the table of entities (kong-contract 1.1). */
import { type Collection, collections, nestedLists } from "@sluice/model";

export interface Endpoint {
  /** With the parameters `:entity` (the entity, or the parent) and `:child`. */
  readonly url: string;
  readonly collection: Collection;
  /** The URL names one entity. */
  readonly one: boolean;
  /** The URL starts at an entity that those of the collection refer to by `member`. */
  readonly parent?: { readonly collection: Collection; readonly member: string };
}

/** Where a collection's URLs differ from its name. */
const segments: Partial<Record<Collection, { readonly top: string; readonly nested: string }>> = {
  keyauth_credentials: { top: "key-auths", nested: "key-auth" },
};

const topOf = (collection: Collection): string => segments[collection]?.top ?? collection;
const nestedOf = (collection: Collection): string => segments[collection]?.nested ?? collection;

export const endpoints: readonly Endpoint[] = collections.flatMap((collection): readonly Endpoint[] => {
  const top = `/${topOf(collection)}`;
  return [
    { url: top, collection, one: false },
    { url: `${top}/:entity`, collection, one: true },
    ...nestedLists[collection].flatMap(({ child, member }): readonly Endpoint[] => {
      const url = `${top}/:entity/${nestedOf(child)}`;
      const parent = { collection, member };
      return [
        { url, collection: child, one: false, parent },
        { url: `${url}/:child`, collection: child, one: true, parent },
      ];
    }),
  ];
});
