/** Index of ReferenceGrants, updated one at a time. A grant applies to references into its own namespace. */
import {
  type GrantLookups,
  grantsFromKey,
  grantsIntoKey,
  type Kind,
  kindNames,
  type Resource,
  resourceKey,
} from "@sluice/crds";

export interface GrantIndex extends GrantLookups {
  /**
   * Updates a grant (`namespace/name`); undefined: it was deleted. Returns the keys of all lookups whose results may
   * change.
   */
  set(key: string, grant: Resource | undefined): readonly string[];
}

interface Grant {
  readonly from: readonly Side[];
  readonly to: readonly Side[];
  readonly consumers: ReadonlySet<string>;
}

interface Side {
  readonly group?: unknown;
  readonly kind?: unknown;
  readonly namespace?: unknown;
  readonly name?: unknown;
}

const sidesOf = (list: unknown): readonly Side[] => (Array.isArray(list) ? list.map((side) => Object(side)) : []);

const isKind = ({ group, kind }: Side, of: Kind): boolean => {
  const { apiVersion, kind: name } = kindNames[of];
  const [own] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  return group === own && kind === name;
};

const isNamed = ({ name }: Side): boolean => name !== undefined && name !== null && name !== "";

/** Namespaces whose Consumers may, because of the grant, refer to all Routes of the grant's namespace. */
const consumersOf = (from: readonly Side[], to: readonly Side[]): ReadonlySet<string> =>
  to.some((side) => isKind(side, "Route") && !isNamed(side))
    ? new Set(from.filter((side) => isKind(side, "Consumer")).map(({ namespace }) => `${namespace}`))
    : new Set();

export function createGrantIndex(all: Iterable<Resource>): GrantIndex {
  const byNamespace = new Map<string, Map<string, Grant>>();

  function enter(key: string, { metadata: { namespace }, spec }: Resource): ReadonlySet<string> {
    const [from, to] = [sidesOf(spec?.from), sidesOf(spec?.to)];
    const consumers = consumersOf(from, to);
    const inside = byNamespace.get(namespace) ?? new Map<string, Grant>();
    byNamespace.set(namespace, inside.set(key, { from, to, consumers }));
    return consumers;
  }

  function leave(key: string): ReadonlySet<string> {
    const namespace = key.slice(0, key.indexOf("/"));
    const inside = byNamespace.get(namespace);
    const consumers = inside?.get(key)?.consumers;
    inside?.delete(key);
    if (inside?.size === 0) byNamespace.delete(namespace);
    return consumers ?? new Set();
  }

  for (const grant of all) enter(resourceKey(grant), grant);
  return {
    isReferenceAllowed({ from, to }) {
      for (const grant of byNamespace.get(to.namespace)?.values() ?? []) {
        const isFrom = grant.from.some((side) => isKind(side, from.kind) && side.namespace === from.namespace);
        const isTo = grant.to.some((side) => isKind(side, to.kind) && (!isNamed(side) || side.name === to.name));
        if (isFrom && isTo) return true;
      }
      return false;
    },
    // The result is sorted. A grant for single Routes does not count: keys apply to whole namespaces.
    namespacesOpenTo: (namespace) =>
      [...byNamespace]
        .filter(
          ([other, grants]) => other !== namespace && grants.values().some((grant) => grant.consumers.has(namespace)),
        )
        .map(([other]) => other)
        .sort(),
    set(key, grant) {
      const namespaces = leave(key).union(grant ? enter(key, grant) : new Set<string>());
      return [grantsIntoKey(key.slice(0, key.indexOf("/"))), ...[...namespaces].map(grantsFromKey)];
    },
  };
}
