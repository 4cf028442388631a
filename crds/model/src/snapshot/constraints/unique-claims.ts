/** The values that must be unique within each collection. */
import { type Collection, entities, isSecretLookup, perCollection, references } from "../../entities/index.ts";
import { referencedId, type StoredEntity } from "../stored-entity.ts";

export interface UniqueClaim {
  /** The value that must be unique; undefined when the entity has none. */
  readonly claimed: (entity: StoredEntity) => string | undefined;
  /** The entity's value as messages show it: `name set to 'foo'`. */
  readonly describe: (entity: StoredEntity) => string;
  /** Whether two entities with the same value conflict. Default: always. */
  readonly overlap?: (one: StoredEntity, other: StoredEntity) => boolean;
}

const memberClaim = (member: string): UniqueClaim => ({
  claimed: (entity) => (typeof entity[member] === "string" ? entity[member] : undefined),
  describe: (entity) => `${member} set to '${entity[member]}'`,
});

const togetherClaim = (members: readonly string[]): UniqueClaim => ({
  claimed: (entity) => JSON.stringify(members.map((member) => claimedValue(entity, member))),
  describe: (entity) => members.map((member) => `${member} set to '${claimedValue(entity, member)}'`).join(" and "),
});

/** A reference's id, or the value of another member; null when unset. */
const claimedValue = (entity: StoredEntity, member: string): unknown =>
  referencedId(entity, member) ?? entity[member] ?? null;

/**
 * `name set to 'cors' for the same route`: a name is unique for each combination of references, such as route and
 * consumer.
 */
function describePlugin(plugin: StoredEntity): string {
  const scope = references.plugins.map(({ member }) => member).filter((member) => plugin[member] !== null);
  return `name set to '${plugin.name}' for ${scope.length === 0 ? "all requests" : `the same ${scope.join(" and ")}`}`;
}

/** The claim of a lookup member that is a secret, which is never shown. */
const secretClaim = (lookup: string): UniqueClaim => ({
  claimed: (credential) => extrasOf(credential).key_hash,
  describe: () => `${lookup} set to '[redacted]'`,
});

/** A lookup value is unique in each namespace for whose routes the credential is valid. */
function credentialClaim(collection: Collection, lookup: string): UniqueClaim {
  const { uniqueTogether } = entities[collection];
  const own = uniqueTogether === undefined ? memberClaim(lookup) : togetherClaim(uniqueTogether);
  return {
    ...(isSecretLookup(collection) ? secretClaim(lookup) : own),
    overlap: (one, other) => {
      const [mine, theirs] = [extrasOf(one).namespaces, extrasOf(other).namespaces];
      return mine === undefined || theirs === undefined || mine.some((namespace) => theirs.includes(namespace));
    },
  };
}

/**
 * Several namespaces may have the same CA certificate: each has a resource of its own, which the other namespaces
 * cannot remove.
 */
const digestClaim: UniqueClaim = {
  ...memberClaim("cert_digest"),
  overlap(one, other) {
    const [mine, theirs] = [extrasOf(one).namespace, extrasOf(other).namespace];
    return mine === undefined || theirs === undefined || mine === theirs;
  },
};

const extrasOf = (entity: StoredEntity) =>
  (entity._sluice ?? {}) as { key_hash?: string; namespaces?: readonly string[]; namespace?: string };

export const uniqueClaims = perCollection((collection): readonly UniqueClaim[] => {
  const { unique, uniqueTogether, credential } = entities[collection];
  if (typeof credential?.lookup === "string") return [credentialClaim(collection, credential.lookup)];
  const claims = collection === "ca_certificates" ? [digestClaim] : unique.map(memberClaim);
  if (uniqueTogether === undefined) return claims;
  const together = togetherClaim(uniqueTogether);
  return [...claims, collection === "plugins" ? { ...together, describe: describePlugin } : together];
});
