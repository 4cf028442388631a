/**
 * What an entity has for itself alone: its names, its id, a plugin's scope, a key within its scope, a route's match.
 * The older resource has it; the younger is told whose it is. Claims are made in the order of age.
 */
import { type Collection, type CredentialExtras, entities, type Route } from "@sluice/model";
import type { ClaimInterests } from "./claim-interests.ts";
import { routeMatchesOf } from "./route-matches.ts";
import { type Owner, ownerKey } from "./translation.ts";

export interface Claimant {
  readonly owner: Owner;
  readonly collection: Collection;
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

interface EntityClaim {
  /** What is claimed, in words: `the name web`. */
  readonly what: string;
  readonly key: string;
}

/** A claim that holds within namespaces; null = all. Two that share none are not in each other's way. */
interface NamespacedClaim extends EntityClaim {
  readonly namespaces: readonly string[] | null;
}

export interface ClaimTable {
  /** Takes everything that the entity claims; or takes nothing and says, in a sentence, what another has. */
  claim(claimant: Claimant): string | null;
  /**
   * Keeps the matches of a route, or the name of an SNI, that cannot be served for now from other namespaces, so that a
   * fault of one team does not hand its requests to another. Younger ones of the same namespace may take them.
   */
  reserve(claimant: Claimant): void;
  /** Who has the scope of a plugin: the id of the one that is served for the very same requests. */
  holderOfScope(claimant: Claimant): string | undefined;
  /** Gives a plugin's scope to a stand-in, whoever has it. */
  overrideScope(claimant: Claimant): void;
}

/** Names of hosts, whose case does not matter to requests. */
const hostNames: ReadonlySet<Collection> = new Set(["snis", "upstreams"]);

function named(collection: Collection, entity: Claimant["entity"], members: readonly string[]): readonly EntityClaim[] {
  return members.flatMap((member) => {
    const name = entity[member];
    if (typeof name !== "string") return [];
    const key = hostNames.has(collection) ? name.toLowerCase() : name;
    return [{ key: `${collection} ${member}=${key}`, what: `the ${member} ${name}` }];
  });
}

const idOf = (entity: unknown): unknown => (entity as { id?: string } | null)?.id ?? null;

const scopeOf = ({ name, service, route, consumer }: Claimant["entity"]): string =>
  `scope=${JSON.stringify([name, idOf(service), idOf(route), idOf(consumer)])}`;

const targetOf = ({ upstream, target }: Claimant["entity"]): string =>
  `target=${JSON.stringify([idOf(upstream), String(target).toLowerCase()])}`;

/** Remembered for the entity, which never changes: every entity claims with every change of anything. */
const known = new WeakMap<object, readonly EntityClaim[]>();

/** Names come first: who shares a name shares the id that is derived from it, and the name is what people know. */
function claimsOf({ collection, entity }: Claimant): readonly EntityClaim[] {
  const before = known.get(entity);
  if (before) return before;
  const scope = { key: scopeOf(entity), what: `the plugin ${entity.name} for the same target` };
  const claims = [
    ...named(collection, entity, collection === "keyauth_credentials" ? [] : entities[collection].unique),
    ...(collection === "plugins" ? [scope] : []),
    ...(collection === "targets" ? [{ key: targetOf(entity), what: `the target ${entity.target}` }] : []),
    { key: `${collection} id=${entity.id}`, what: `the id ${entity.id}` },
  ];
  known.set(entity, claims);
  return claims;
}

function credentialClaimOf({ collection, entity }: Claimant): NamespacedClaim | undefined {
  if (collection !== "keyauth_credentials") return undefined;
  const { key_hash, namespaces } = entity._sluice as CredentialExtras;
  return { key: `key=${key_hash}`, what: "this key", namespaces: namespaces ?? null };
}

const namespacesOverlap = (one: NamespacedClaim["namespaces"], other: NamespacedClaim["namespaces"]): boolean =>
  one === null || other === null || one.some((namespace) => other.includes(namespace));

/** Secrets of a namespace are nobody else's business: a key's other owner is named only within it. */
function conflictMessage(claim: EntityClaim, holder: Owner, { collection, owner }: Claimant): string {
  if (ownerKey(holder) === ownerKey(owner)) return `the resource gives ${claim.what} twice: remove one of the two`;
  const secret = collection === "keyauth_credentials" && holder.namespace !== owner.namespace;
  const who = secret
    ? "a Consumer of another namespace"
    : `the older ${holder.kind} ${holder.namespace}/${holder.name}`;
  return `${who} has ${claim.what}: choose another or remove one of the two`;
}

/**
 * Everything that may decide who of several is served. Two resources that have none of these in common do not depend on
 * each other's claims, whoever is older.
 */
export function claimKeysOf(claimant: Claimant): readonly string[] {
  const key = credentialClaimOf(claimant);
  const own = claimsOf(claimant).map((claim) => claim.key);
  const matches = claimant.collection === "routes" ? routeMatchesOf(claimant.entity as unknown as Route) : [];
  return [...own, ...new Set(matches), ...(key ? [key.key] : [])];
}

interface Key {
  readonly namespaces: NamespacedClaim["namespaces"];
  readonly owner: Owner;
}

/** @param interests Is told of all who claim something, whether they get it or not. */
export function createClaimTable(interests: ClaimInterests): ClaimTable {
  const taken = new Map<string, Claimant>();
  const keys = new Map<string, Key[]>();
  const matches = new Map<string, Owner>();
  const reserved = new Map<string, Owner>();

  /** Who has the key where this credential would open something. */
  const holderOf = ({ key, namespaces }: NamespacedClaim): Owner | undefined =>
    keys.get(key)?.find((other) => namespacesOverlap(other.namespaces, namespaces))?.owner;

  function holdKey({ key, namespaces }: NamespacedClaim, owner: Owner): void {
    const holders = keys.get(key);
    if (holders) holders.push({ namespaces, owner });
    else keys.set(key, [{ namespaces, owner }]);
  }

  /** The older route that keeps the whole route out. While one of its ways in is free, it has something to serve. */
  function conflictingRoute(own: readonly string[], { namespace }: Owner): Owner | undefined {
    let first: Owner | undefined;
    for (const match of own) {
      const reserver = reserved.get(match);
      const holder = matches.get(match) ?? (reserver?.namespace === namespace ? undefined : reserver);
      if (!holder) return undefined;
      first ??= holder;
    }
    return first;
  }

  return {
    claim(claimant) {
      interests.add(claimant);
      const { collection, owner, entity } = claimant;
      const key = credentialClaimOf(claimant);
      const keyHolder = key && holderOf(key);
      if (key && keyHolder) return conflictMessage(key, keyHolder, claimant);
      const claims = claimsOf(claimant);
      for (const claim of claims) {
        const reserver = collection === "snis" ? reserved.get(claim.key) : undefined;
        const holder = taken.get(claim.key)?.owner ?? (reserver?.namespace === owner.namespace ? undefined : reserver);
        if (holder) return conflictMessage(claim, holder, claimant);
      }
      if (collection === "routes") {
        const own = routeMatchesOf(entity as unknown as Route);
        const older = conflictingRoute(own, owner);
        if (older)
          return `the older Route ${older.namespace}/${older.name} matches the same requests: change hosts, paths, methods or headers`;
        for (const match of own) if (!matches.has(match)) matches.set(match, owner);
      }
      for (const claim of claims) taken.set(claim.key, claimant);
      if (key) holdKey(key, owner);
      return null;
    },
    reserve(claimant) {
      interests.add(claimant);
      const { owner, collection, entity } = claimant;
      const own =
        collection === "snis" ? claimsOf(claimant).map(({ key }) => key) : routeMatchesOf(entity as unknown as Route);
      for (const match of own) if (!matches.has(match) && !reserved.has(match)) reserved.set(match, owner);
    },
    holderOfScope(claimant) {
      interests.add(claimant);
      return taken.get(scopeOf(claimant.entity))?.entity.id;
    },
    overrideScope(claimant) {
      interests.add(claimant);
      taken.set(scopeOf(claimant.entity), claimant);
    },
  };
}
