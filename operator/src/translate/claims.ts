/**
 * What an entity has for itself alone: its names, its id, a plugin's scope, a key within its scope, a route's match.
 * The older resource has it; the younger is told whose it is. Claims are made in the order of age.
 */
import type { Collection, CredentialExtras, Route } from "@sluice/model";
import { matchesOf } from "./matches.ts";
import { type Owner, ownerKey } from "./translation.ts";

export interface Claimant {
  readonly owner: Owner;
  readonly collection: Collection;
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

interface Claim {
  /** What is claimed, in words: `the name web`. */
  readonly what: string;
  readonly key: string;
  /** Namespaces within which the claim holds; null = all. Two claims that share none are not in each other's way. */
  readonly namespaces: readonly string[] | null;
}

export interface Claims {
  /** Takes everything that the entity claims; or takes nothing and says, in a sentence, what another has. */
  take(claimant: Claimant): string | null;
  /**
   * Keeps the matches of a route that cannot be served for now from other namespaces, so that a fault of one team does
   * not hand its requests to another. Younger routes of the same namespace may take them.
   */
  reserve(claimant: Claimant): void;
  /** Who has the scope of a plugin: the id of the one that is served for the very same requests. */
  holderOfScope(plugin: Claimant["entity"]): string | undefined;
  /** Gives a plugin's scope to a stand-in, whoever has it. */
  overrideScope(claimant: Claimant): void;
}

const whole = (key: string, what: string): Claim => ({ key, what, namespaces: null });

function named(entity: Claimant["entity"], members: readonly string[]): readonly Claim[] {
  return members.flatMap((member) =>
    typeof entity[member] === "string" ? [whole(`${member}=${entity[member]}`, `the ${member} ${entity[member]}`)] : [],
  );
}

const idOf = (entity: unknown): unknown => (entity as { id?: string } | null)?.id ?? null;

const scopeOf = ({ name, service, route, consumer }: Claimant["entity"]): string =>
  `scope=${JSON.stringify([name, idOf(service), idOf(route), idOf(consumer)])}`;

/** Names come first: who shares a name shares the id that is derived from it, and the name is what people know. */
function claimsOf({ collection, entity }: Claimant): readonly Claim[] {
  const id = whole(`id=${entity.id}`, `the id ${entity.id}`);
  switch (collection) {
    case "services":
    case "routes":
      return [...named(entity, ["name"]), id];
    case "consumers":
      return [...named(entity, ["username", "custom_id"]), id];
    case "keyauth_credentials": {
      const { key_hash, namespaces } = entity._sluice as CredentialExtras;
      return [{ key: `key=${key_hash}`, what: "this key", namespaces: namespaces ?? null }, id];
    }
    case "plugins":
      return [
        ...named(entity, ["instance_name"]),
        whole(scopeOf(entity), `the plugin ${entity.name} for the same target`),
        id,
      ];
  }
}

const meet = (one: Claim["namespaces"], other: Claim["namespaces"]): boolean =>
  one === null || other === null || one.some((namespace) => other.includes(namespace));

/** Secrets of a namespace are nobody else's business: a key's other owner is named only within it. */
function sentence(claim: Claim, holder: Owner, { collection, owner }: Claimant): string {
  if (ownerKey(holder) === ownerKey(owner)) return `the resource gives ${claim.what} twice: remove one of the two`;
  const secret = collection === "keyauth_credentials" && holder.namespace !== owner.namespace;
  const who = secret
    ? "a Consumer of another namespace"
    : `the older ${holder.kind} ${holder.namespace}/${holder.name}`;
  return `${who} has ${claim.what}: choose another or remove one of the two`;
}

interface Taken extends Pick<Claim, "namespaces"> {
  readonly owner: Owner;
  readonly id: string;
}

export function createClaims(): Claims {
  const taken = new Map<string, Taken[]>();
  const matches = new Map<string, Owner>();
  const reserved = new Map<string, Owner>();

  function hold(key: string, claim: Taken): void {
    const holders = taken.get(key);
    if (holders) holders.push(claim);
    else taken.set(key, [claim]);
  }

  /** The older route that keeps the whole route out. While one of its ways in is free, it has something to serve. */
  function rival(own: readonly string[], { namespace }: Owner): Owner | undefined {
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
    take(claimant) {
      const { collection, owner, entity } = claimant;
      const claims = claimsOf(claimant);
      for (const claim of claims) {
        const holders = taken.get(`${collection} ${claim.key}`);
        const holder = holders?.find(({ namespaces }) => meet(namespaces, claim.namespaces));
        if (holder) return sentence(claim, holder.owner, claimant);
      }
      if (collection === "routes") {
        const own = matchesOf(entity as unknown as Route);
        const older = rival(own, owner);
        if (older)
          return `the older Route ${older.namespace}/${older.name} matches the same requests: change hosts, paths, methods or headers`;
        for (const match of own) if (!matches.has(match)) matches.set(match, owner);
      }
      for (const { key, namespaces } of claims) hold(`${collection} ${key}`, { namespaces, owner, id: entity.id });
      return null;
    },
    reserve({ owner, entity }) {
      for (const match of matchesOf(entity as unknown as Route))
        if (!matches.has(match) && !reserved.has(match)) reserved.set(match, owner);
    },
    holderOfScope: (plugin) => taken.get(`plugins ${scopeOf(plugin)}`)?.[0]?.id,
    overrideScope({ owner, entity }) {
      taken.set(`plugins ${scopeOf(entity)}`, [{ namespaces: null, owner, id: entity.id }]);
    },
  };
}
