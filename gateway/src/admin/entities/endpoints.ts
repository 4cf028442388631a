/** The URLs of the admin API, derived from the table of entities (docs/reference/kong-compatibility.md#admin-api). */
import { type Collection, collections, entities, nestedLists, references } from "@sluice/model";

/** The URL may contain the parameters `:entity` (the entity, the parent or the holder) and `:child`. */
export type AdminEndpoint = EntityEndpoint | ReferenceEndpoint;

/** The entities of a collection, or one of them. */
export interface EntityEndpoint {
  readonly kind: "list" | "one";
  readonly url: string;
  readonly collection: Collection;
  /** The endpoint has only the entities whose `member` refers to this parent. */
  readonly parent?: { readonly collection: Collection; readonly member: string };
}

/** The entity to which another entity refers: `/routes/:entity/service`. */
export interface ReferenceEndpoint {
  readonly kind: "foreign";
  readonly url: string;
  readonly collection: Collection;
  readonly holder: { readonly collection: Collection; readonly member: string };
}

/**
 * Collections whose references Kong has no URLs for. Instead of `/snis/:entity/certificate`, clients use
 * `/certificates/:entity`, where `:entity` may be a server name.
 */
const withoutForeign: ReadonlySet<Collection> = new Set(["snis"]);

/** As in Kong, targets are found below their upstream only, and memberships below the consumer or the group. */
const belowParents: ReadonlySet<Collection> = new Set(["targets", "consumer_group_consumers"]);

/**
 * The last segment of a URL that lists the children of a parent. For memberships, it names the collection at their
 * other end: the consumers of a group, or the groups of a consumer.
 */
function segmentOf(child: Collection, parent: string): string {
  const other = references[child].find(({ member }) => member !== parent);
  if (child === "consumer_group_consumers" && other) return other.to;
  return entities[child].credential?.segments.nested ?? child;
}

export const adminEndpoints: readonly AdminEndpoint[] = collections.flatMap((collection): readonly AdminEndpoint[] => {
  const top = `/${entities[collection].credential?.segments.top ?? collection}`;
  const nested = nestedLists[collection].flatMap(({ child, member }): readonly AdminEndpoint[] => {
    const url = `${top}/:entity/${segmentOf(child, member)}`;
    const parent = { collection, member };
    return [
      { kind: "list", url, collection: child, parent },
      { kind: "one", url: `${url}/:child`, collection: child, parent },
    ];
  });
  if (belowParents.has(collection)) return nested;
  const foreign = references[collection].map(
    ({ member, to }): ReferenceEndpoint => ({
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
