/** The values of each collection's entities that must be unique. */
import { type Collection, entities, perCollection, references } from "../../entities/index.ts";
import { referencedId, type StoredEntity } from "../stored-entity.ts";

export interface UniqueClaim {
  /** The value that must be unique; undefined when the entity has none. */
  readonly claimed: (entity: StoredEntity) => string | undefined;
  /** `name set to 'foo'` */
  readonly say: (entity: StoredEntity) => string;
  /** Whether two entities with the same value conflict. Default: always. */
  readonly overlap?: (one: StoredEntity, other: StoredEntity) => boolean;
}

const memberClaim = (member: string): UniqueClaim => ({
  claimed: (entity) => (typeof entity[member] === "string" ? entity[member] : undefined),
  say: (entity) => `${member} set to '${entity[member]}'`,
});

/** Caches the value per entity, because every change asks for it. Entities are frozen, so the value cannot change. */
function memoized(claimed: (entity: StoredEntity) => string): (entity: StoredEntity) => string {
  const known = new WeakMap<StoredEntity, string>();
  return (entity) => {
    const before = known.get(entity);
    if (before !== undefined) return before;
    const value = claimed(entity);
    known.set(entity, value);
    return value;
  };
}

/** At most one plugin of each name for one combination of route, service and consumer. */
const pluginClaim: UniqueClaim = {
  claimed: memoized((plugin) =>
    JSON.stringify([plugin.name, ...references.plugins.map(({ member }) => referencedId(plugin, member) ?? null)]),
  ),
  say: (plugin) => {
    const scope = references.plugins.flatMap(({ member }) =>
      referencedId(plugin, member) === undefined ? [] : [member],
    );
    return `name set to '${plugin.name}' for ${scope.length === 0 ? "all requests" : `the same ${scope.join(" and ")}`}`;
  },
};

/** Members whose combination must be unique. */
const togetherClaim = (members: readonly string[]): UniqueClaim => ({
  claimed: memoized((entity) =>
    JSON.stringify(members.map((member) => referencedId(entity, member) ?? entity[member] ?? null)),
  ),
  say: (entity) =>
    members.map((member) => `${member} set to '${referencedId(entity, member) ?? entity[member]}'`).join(" and "),
});

/** Within a scope a key belongs to one consumer. The key itself is never shown. */
const keyClaim: UniqueClaim = {
  claimed: (credential) => extrasOf(credential).key_hash,
  say: () => "key set to '[redacted]'",
  overlap: (one, other) => {
    const [mine, theirs] = [extrasOf(one).namespaces, extrasOf(other).namespaces];
    return mine === undefined || theirs === undefined || mine.some((namespace) => theirs.includes(namespace));
  },
};

const extrasOf = (entity: StoredEntity) =>
  (entity._sluice ?? {}) as { key_hash?: string; namespaces?: readonly string[] };

const special: Partial<Record<Collection, readonly UniqueClaim[]>> = {
  plugins: [...entities.plugins.unique.map(memberClaim), pluginClaim],
  keyauth_credentials: [keyClaim],
};

export const uniqueClaims = perCollection((collection): readonly UniqueClaim[] => {
  const { unique, uniqueTogether } = entities[collection];
  return (
    special[collection] ?? [...unique.map(memberClaim), ...(uniqueTogether ? [togetherClaim(uniqueTogether)] : [])]
  );
});
