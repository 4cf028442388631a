/**
 * What an entity has for itself alone: its id, its names, a plugin's scope, a key within its scope, a route's match.
 * The older resource has it; the younger is told whose it is. Claims are made in the order of age.
 */
import type { Collection, CredentialExtras, Route } from "@sluice/model";
import type { Owner } from "./translation.ts";

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
}

const whole = (key: string, what: string): Claim => ({ key, what, namespaces: null });

function named(entity: Claimant["entity"], members: readonly string[]): readonly Claim[] {
  return members.flatMap((member) =>
    typeof entity[member] === "string" ? [whole(`${member}=${entity[member]}`, `the ${member} ${entity[member]}`)] : [],
  );
}

/** One for each way in which the route matches: a route with several paths is as many routes (kong-contract 2.1). */
export function matchesOf({ paths, hosts, methods, headers, snis, protocols }: Route): readonly string[] {
  const sorted = (list: readonly string[] | null) => (list ? [...list].sort() : null);
  const names = Object.keys(headers ?? {}).sort();
  const rest = [
    sorted(hosts),
    sorted(methods),
    names.map((name) => [name.toLowerCase(), sorted(headers?.[name] ?? null)]),
    sorted(snis),
    sorted(protocols),
  ];
  return (paths ?? [null]).map((path) => JSON.stringify([path, ...rest]));
}

const idOf = (entity: unknown): unknown => (entity as { id?: string } | null)?.id ?? null;

function claimsOf({ collection, entity }: Claimant): readonly Claim[] {
  const id = whole(`id=${entity.id}`, `the id ${entity.id}`);
  switch (collection) {
    case "services":
    case "routes":
      return [id, ...named(entity, ["name"])];
    case "consumers":
      return [id, ...named(entity, ["username", "custom_id"])];
    case "keyauth_credentials": {
      const { key_hash, namespaces } = entity._sluice as CredentialExtras;
      return [id, { key: `key=${key_hash}`, what: "this key", namespaces: namespaces ?? null }];
    }
    case "plugins": {
      const scope = JSON.stringify([entity.name, idOf(entity.service), idOf(entity.route), idOf(entity.consumer)]);
      return [
        id,
        ...named(entity, ["instance_name"]),
        whole(`scope=${scope}`, `the plugin ${entity.name} for the same target`),
      ];
    }
  }
}

const meet = (one: Claim["namespaces"], other: Claim["namespaces"]): boolean =>
  one === null || other === null || one.some((namespace) => other.includes(namespace));

export function createClaims(): Claims {
  const taken = new Map<string, (Claim & { readonly owner: Owner })[]>();
  const matches = new Map<string, Owner>();

  /** Secrets of a namespace are nobody else's business: a key's other owner is named only within it. */
  function sentence(claim: Claim, holder: Owner, claimant: Claimant): string {
    const secret = claimant.collection === "keyauth_credentials" && holder.namespace !== claimant.owner.namespace;
    const who = secret
      ? "a Consumer of another namespace"
      : `the older ${holder.kind} ${holder.namespace}/${holder.name}`;
    return `${who} has ${claim.what}: choose another or remove one of the two`;
  }

  return {
    take(claimant) {
      const { collection, owner, entity } = claimant;
      const claims = claimsOf(claimant);
      for (const claim of claims) {
        const holder = taken
          .get(`${collection} ${claim.key}`)
          ?.find(({ namespaces }) => meet(namespaces, claim.namespaces));
        if (holder) return sentence(claim, holder.owner, claimant);
      }
      const own = collection === "routes" ? matchesOf(entity as unknown as Route) : [];
      const holders = own.map((match) => matches.get(match));
      const [first] = holders;
      // While one of its ways in is free the route has something to serve; the older one wins the others.
      if (first && holders.every(Boolean))
        return `the older Route ${first.namespace}/${first.name} matches the same requests: change hosts, paths, methods or headers`;
      for (const match of own) if (!matches.has(match)) matches.set(match, owner);
      for (const claim of claims) {
        const key = `${collection} ${claim.key}`;
        taken.set(key, [...(taken.get(key) ?? []), { ...claim, owner }]);
      }
      return null;
    },
  };
}
