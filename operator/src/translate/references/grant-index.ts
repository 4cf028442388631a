/** Index of ReferenceGrants, updated one at a time. A grant applies to references into its own namespace. */
import {
  type CrossNamespaceReference,
  type GrantLookups,
  grantsFromKey,
  grantsIntoKey,
  kindNames,
  type Resource,
  resourceKey,
} from "@sluice/crds";

export interface GrantIndex extends GrantLookups {
  /** Updates a grant (`namespace/name`); undefined: it was deleted. Returns the keys of all answers that may change. */
  set(key: string, grant: Resource | undefined): readonly string[];
}

interface Grant {
  readonly namespace: string;
  readonly from: readonly Side[];
  readonly to: readonly Side[];
}

interface Side {
  readonly group?: unknown;
  readonly kind?: unknown;
  readonly namespace?: unknown;
  readonly name?: unknown;
}

const sidesOf = (list: unknown): readonly Side[] => (Array.isArray(list) ? list.map((side) => Object(side)) : []);

const isKind = ({ group, kind }: Side, of: CrossNamespaceReference["to"]["kind"]): boolean => {
  const { apiVersion, kind: name } = kindNames[of];
  const [own] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  return group === own && kind === name;
};

const isNamed = ({ name }: Side): boolean => name !== undefined && name !== null && name !== "";

export function createGrantIndex(all: Iterable<Resource>): GrantIndex {
  const byNamespace = new Map<string, Map<string, Grant>>();
  /** The namespaces that admit Consumers of a namespace, with the number of grants that allow it. */
  const open = new Map<string, Map<string, number>>();

  /** Namespaces whose Consumers the grant lets refer to all Routes. */
  const consumersOf = ({ from, to }: Grant): readonly string[] =>
    to.some((side) => isKind(side, "Route") && !isNamed(side))
      ? [...new Set(from.filter((side) => isKind(side, "Consumer")).map(({ namespace }) => `${namespace}`))]
      : [];

  function count(grant: Grant, by: 1 | -1): readonly string[] {
    const consumers = consumersOf(grant);
    for (const consumer of consumers) {
      const counts = open.get(consumer) ?? new Map<string, number>();
      open.set(consumer, counts);
      const number = (counts.get(grant.namespace) ?? 0) + by;
      if (number > 0) counts.set(grant.namespace, number);
      else counts.delete(grant.namespace);
      if (counts.size === 0) open.delete(consumer);
    }
    return consumers;
  }

  function enter(key: string, { metadata: { namespace }, spec }: Resource): readonly string[] {
    const grant: Grant = { namespace, from: sidesOf(spec?.from), to: sidesOf(spec?.to) };
    const inside = byNamespace.get(namespace) ?? new Map<string, Grant>();
    byNamespace.set(namespace, inside.set(key, grant));
    return count(grant, 1);
  }

  function leave(key: string): readonly string[] {
    const namespace = key.slice(0, key.indexOf("/"));
    const inside = byNamespace.get(namespace);
    const grant = inside?.get(key);
    if (!inside || !grant) return [];
    inside.delete(key);
    if (inside.size === 0) byNamespace.delete(namespace);
    return count(grant, -1);
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
    // Sorted. A grant for single Routes does not count: keys apply to whole namespaces.
    namespacesOpenTo: (namespace) =>
      [...(open.get(namespace)?.keys() ?? [])].filter((other) => other !== namespace).sort(),
    set(key, grant) {
      const namespaces = [...leave(key), ...(grant ? enter(key, grant) : [])];
      return [grantsIntoKey(key.slice(0, key.indexOf("/"))), ...new Set(namespaces.map(grantsFromKey))];
    },
  };
}
