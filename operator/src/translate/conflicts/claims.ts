/**
 * The unique properties of entities: names, ids, a plugin's scope, a key in the namespaces where it is valid, a route's
 * matches. The older resource keeps a property; the younger gets a problem. The oldest resource of a kind claims first.
 */
import { refKey, sourceOf } from "@sluice/crds";
import {
  type CaCertificateExtras,
  type Collection,
  type CredentialExtras,
  entities,
  isSecretLookup,
  type SnapshotRoute,
} from "@sluice/model";
import type { Owner } from "../translation.ts";
import { routeMatchesOf } from "./route-matches.ts";

export interface Claimant {
  readonly owner: Owner;
  readonly collection: Collection;
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

interface EntityClaim {
  /** Description of the property: `the name web`. */
  readonly what: string;
  readonly key: string;
}

/** A claim in some namespaces; null: in all namespaces. Claims without a common namespace do not conflict. */
interface NamespacedClaim extends EntityClaim {
  readonly namespaces: readonly string[] | null;
}

/** Collections whose names are host names and therefore case-insensitive. */
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

const scopeOf = ({ name, service, route, consumer, consumer_group }: Claimant["entity"]): string =>
  `scope=${JSON.stringify([name, idOf(service), idOf(route), idOf(consumer), idOf(consumer_group)])}`;

const targetOf = ({ upstream, target }: Claimant["entity"]): string =>
  `target=${JSON.stringify([idOf(upstream), String(target).toLowerCase()])}`;

const membershipOf = ({ consumer, consumer_group }: Claimant["entity"]): string =>
  `member=${JSON.stringify([idOf(consumer), idOf(consumer_group)])}`;

const groupOf = ({ consumer, group }: Claimant["entity"]): string => `group=${JSON.stringify([idOf(consumer), group])}`;

/** Whether credentials of the collection are found by a value, such as a key, which is unique in each namespace. */
const isFoundByValue = (collection: Collection): boolean => typeof entities[collection].credential?.lookup === "string";

/**
 * Whether entities of the collection are unique only within a namespace: credentials that are found by a value, and CA
 * certificates (unique-claims.ts of @sluice/model).
 */
const isUniqueInNamespace = (collection: Collection): boolean =>
  isFoundByValue(collection) || collection === "ca_certificates";

const authorityOf = ({ cert_digest, _sluice }: Claimant["entity"]): string =>
  `authority=${JSON.stringify([(_sluice as CaCertificateExtras | undefined)?.namespace, cert_digest])}`;

/** An entity never changes, so its claims are cached: every full translation needs the claims of every entity. */
const known = new WeakMap<object, readonly EntityClaim[]>();

/**
 * Names come before the id, so that the message for a conflict shows the name: entities with the same name also have
 * the same derived id.
 */
function claimsOf({ collection, entity }: Claimant): readonly EntityClaim[] {
  const before = known.get(entity);
  if (before) return before;
  const scope = { key: scopeOf(entity), what: `the plugin ${entity.name} for the same target` };
  const claims = [
    ...named(collection, entity, isUniqueInNamespace(collection) ? [] : entities[collection].unique),
    ...(collection === "ca_certificates" ? [{ key: authorityOf(entity), what: "the same certificate" }] : []),
    ...(collection === "plugins" ? [scope] : []),
    ...(collection === "targets" ? [{ key: targetOf(entity), what: `the target ${entity.target}` }] : []),
    ...(collection === "acls" ? [{ key: groupOf(entity), what: `the group ${entity.group}` }] : []),
    ...(collection === "consumer_group_consumers"
      ? [{ key: membershipOf(entity), what: "the membership in the same consumer group" }]
      : []),
    { key: `${collection} id=${entity.id}`, what: `the id ${entity.id}` },
  ];
  known.set(entity, claims);
  return claims;
}

function credentialClaimOf({ collection, entity }: Claimant): NamespacedClaim | undefined {
  const lookup = entities[collection].credential?.lookup;
  if (typeof lookup !== "string") return undefined;
  const { key_hash, namespaces = null } = (entity._sluice ?? {}) as CredentialExtras;
  if (isSecretLookup(collection)) return { key: `${collection} ${key_hash}`, what: "this key", namespaces };
  const what = `the ${lookup} ${entity[lookup]}`;
  const { uniqueTogether = [lookup] } = entities[collection];
  const values = uniqueTogether.map((member) => idOf(entity[member]) ?? entity[member]);
  return { key: `${collection} ${JSON.stringify(values)}`, what, namespaces };
}

const namespacesOverlap = (one: NamespacedClaim["namespaces"], other: NamespacedClaim["namespaces"]): boolean =>
  one === null || other === null || one.some((namespace) => other.includes(namespace));

/** The resource of the API server: the source of a derived resource. */
function nameOf(owner: Owner): string {
  const { kind, namespace, name } = sourceOf(owner) ?? owner;
  return `${kind} ${namespace}/${name}`;
}

/** The owner of a credential is named only within its namespace: other namespaces must not learn of its Secrets. */
function conflictMessage(claim: EntityClaim, holder: Owner, { collection, owner }: Claimant): string {
  if (refKey(holder) === refKey(owner)) return `the resource gives ${claim.what} twice: remove one of the two`;
  const secret = isFoundByValue(collection) && holder.namespace !== owner.namespace;
  const who = secret ? "a Consumer of another namespace" : `the older ${nameOf(holder)}`;
  return `${who} has ${claim.what}: choose another or remove one of the two`;
}

/**
 * The `key`s of all claims of the entity, including the claims for a credential and for a route's matches. Resources
 * without a common `key` do not affect each other's claims, whichever is older.
 */
export function claimKeysOf(claimant: Claimant): readonly string[] {
  const key = credentialClaimOf(claimant);
  const own = claimsOf(claimant).map((claim) => claim.key);
  const matches = claimant.collection === "routes" ? routeMatchesOf(claimant.entity as unknown as SnapshotRoute) : [];
  return [...own, ...new Set(matches), ...(key ? [key.key] : [])];
}

interface Key {
  readonly namespaces: NamespacedClaim["namespaces"];
  readonly owner: Owner;
}

/** @param interests Records every claim, successful or not. */
export function createClaimTable(interests: { add(claimant: Claimant): void }) {
  const taken = new Map<string, Claimant>();
  const keys = new Map<string, Key[]>();
  const matches = new Map<string, Owner>();
  const reserved = new Map<string, Owner>();

  /** The owner of an equal key in a namespace where this credential would be valid; undefined: there is none. */
  const holderOf = ({ key, namespaces }: NamespacedClaim): Owner | undefined =>
    keys.get(key)?.find((other) => namespacesOverlap(other.namespaces, namespaces))?.owner;

  function holdKey({ key, namespaces }: NamespacedClaim, owner: Owner): void {
    const holders = keys.get(key);
    if (holders) holders.push({ namespaces, owner });
    else keys.set(key, [{ namespaces, owner }]);
  }

  /** The owner that keeps a match from the routes of a namespace; undefined: they may claim it. */
  function holderOfMatch(match: string, namespace: string): Owner | undefined {
    const reserver = reserved.get(match);
    return matches.get(match) ?? (reserver?.namespace === namespace ? undefined : reserver);
  }

  /** The owner of a route's first match if all matches of the route are taken; undefined: one is free. */
  function conflictingRoute(own: readonly string[], { namespace }: Owner): Owner | undefined {
    let first: Owner | undefined;
    for (const match of own) {
      const holder = holderOfMatch(match, namespace);
      if (!holder) return undefined;
      first ??= holder;
    }
    return first;
  }

  return {
    /**
     * Claims the properties of the entity and returns null. A route claims the matches that no other route has claimed;
     * it has a conflict only if every match is claimed, or reserved by another namespace. On a conflict nothing is
     * claimed, and the result is a sentence about the conflict.
     */
    claim(claimant: Claimant) {
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
        const own = routeMatchesOf(entity as unknown as SnapshotRoute);
        const older = conflictingRoute(own, owner);
        if (older)
          return `the older ${nameOf(older)} matches the same requests: change hosts, paths, methods or headers`;
        // A match that another namespace reserved stays free for the stand-in of the reserving route.
        for (const match of own) if (!holderOfMatch(match, owner.namespace)) matches.set(match, owner);
      }
      for (const claim of claims) taken.set(claim.key, claimant);
      if (key) holdKey(key, owner);
      return null;
    },
    /**
     * Reserves the matches of a route, or the name of an SNI, that cannot be served now. Otherwise a team's mistake
     * would hand its requests to another namespace. Younger resources of the same namespace may claim what is reserved.
     */
    reserve(claimant: Claimant) {
      interests.add(claimant);
      const { owner, collection, entity } = claimant;
      const own =
        collection === "snis"
          ? claimsOf(claimant).map(({ key }) => key)
          : routeMatchesOf(entity as unknown as SnapshotRoute);
      for (const match of own) if (!matches.has(match) && !reserved.has(match)) reserved.set(match, owner);
    },
    /** The id of the plugin that has this plugin's scope; undefined if none has. */
    holderOfScope(claimant: Claimant) {
      interests.add(claimant);
      return taken.get(scopeOf(claimant.entity))?.entity.id;
    },
    /** Assigns a plugin's scope to a stand-in, whichever plugin has it. */
    overrideScope(claimant: Claimant) {
      interests.add(claimant);
      taken.set(scopeOf(claimant.entity), claimant);
    },
  };
}

/** Tracks which resources claim a key. When only one resource claims it, no other resource depends on that claim. */
export function createClaimInterests() {
  /** null: several owners claim the key. */
  const interested = new Map<string, Owner | null>();
  return {
    /** Records the owner for all keys that the entity claims. */
    add(claimant: Claimant) {
      for (const key of claimKeysOf(claimant)) {
        const before = interested.get(key);
        if (before === undefined) interested.set(key, claimant.owner);
        else if (before !== claimant.owner) interested.set(key, null);
      }
    },
    /** Like `add`, but stops and returns false at a key that is claimed already. */
    addExclusive(claimant: Claimant) {
      return claimKeysOf(claimant).every((key) => {
        if (interested.has(key)) return false;
        interested.set(key, claimant.owner);
        return true;
      });
    },
    /** Removes the owner's claims, but stops and returns false at a key that other owners claim too. */
    removeExclusive(claimant: Claimant) {
      return claimKeysOf(claimant).every((key) => interested.get(key) === claimant.owner && interested.delete(key));
    },
  };
}

export type ClaimInterests = ReturnType<typeof createClaimInterests>;
