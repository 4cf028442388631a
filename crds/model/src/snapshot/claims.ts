/** What an entity of each collection claims for itself alone. */
import { type Collection, entities } from "../entities/index.ts";
import { perCollection } from "../entities/per-collection.ts";
import { references } from "../entities/references.ts";
import { type Held, referred } from "./held.ts";

export interface Claim {
  /** Undefined: the entity claims nothing. */
  readonly claimed: (entity: Held) => string | undefined;
  /** `name set to 'foo'` */
  readonly say: (entity: Held) => string;
  /** Whether two entities of one value are in each other's way; by default they are. */
  readonly overlap?: (one: Held, other: Held) => boolean;
}

const memberClaim = (member: string): Claim => ({
  claimed: (entity) => (typeof entity[member] === "string" ? entity[member] : undefined),
  say: (entity) => `${member} set to '${entity[member]}'`,
});

/** Worked out once for each entity, of all of which it is asked at every change. Entities are frozen. */
function remembered(claimed: (entity: Held) => string): (entity: Held) => string {
  const known = new WeakMap<Held, string>();
  return (entity) => {
    const before = known.get(entity);
    if (before !== undefined) return before;
    const value = claimed(entity);
    known.set(entity, value);
    return value;
  };
}

/** One plugin of a name for one combination of route, service and consumer. */
const pluginClaim: Claim = {
  claimed: remembered((plugin) =>
    JSON.stringify([plugin.name, ...references.plugins.map(({ member }) => referred(plugin, member) ?? null)]),
  ),
  say: (plugin) => {
    const scope = references.plugins.flatMap(({ member }) => (referred(plugin, member) === undefined ? [] : [member]));
    return `name set to '${plugin.name}' for ${scope.length === 0 ? "all requests" : `the same ${scope.join(" and ")}`}`;
  },
};

/** Members that no two entities may share all of. */
const togetherClaim = (members: readonly string[]): Claim => ({
  claimed: remembered((entity) =>
    JSON.stringify(members.map((member) => referred(entity, member) ?? entity[member] ?? null)),
  ),
  say: (entity) =>
    members.map((member) => `${member} set to '${referred(entity, member) ?? entity[member]}'`).join(" and "),
});

/** Within a scope a key belongs to one consumer. The key itself is never shown. */
const keyClaim: Claim = {
  claimed: (credential) => extrasOf(credential).key_hash,
  say: () => "key set to '[redacted]'",
  overlap: (one, other) => {
    const [mine, theirs] = [extrasOf(one).namespaces, extrasOf(other).namespaces];
    return mine === undefined || theirs === undefined || mine.some((namespace) => theirs.includes(namespace));
  },
};

const extrasOf = (entity: Held) => (entity._sluice ?? {}) as { key_hash?: string; namespaces?: readonly string[] };

const special: Partial<Record<Collection, readonly Claim[]>> = {
  plugins: [...entities.plugins.unique.map(memberClaim), pluginClaim],
  keyauth_credentials: [keyClaim],
};

export const claims = perCollection((collection): readonly Claim[] => {
  const { unique, uniqueTogether } = entities[collection];
  return (
    special[collection] ?? [...unique.map(memberClaim), ...(uniqueTogether ? [togetherClaim(uniqueTogether)] : [])]
  );
});
