/** Lookups of translations in the cluster state. */
import { classOf as byItself, identityOf, keyOf, type Resource, type TranslationLookups } from "@sluice/crds";
import type { ClusterState } from "../watch/cluster-state.ts";
import type { GrantIndex } from "./grant-index.ts";

export interface ResourceLookups {
  askIn(clusterState: ClusterState, grants: GrantIndex): TranslationLookups;
  /** The id of a resource's entity; undefined without a resource, and for one of another class. */
  idOf(resource: Resource | undefined): string | undefined;
}

interface LookupsOptions {
  readonly homeNamespace: string;
  readonly class: string;
  /** Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
}

export function createResourceLookups({
  homeNamespace,
  class: className,
  ...options
}: LookupsOptions): ResourceLookups {
  const { classOf = byItself } = options;
  const ids = new WeakMap<Resource, string>();

  function idOf(resource: Resource | undefined): string | undefined {
    if (!resource || classOf(resource) !== className) return undefined;
    const known = ids.get(resource);
    if (known !== undefined) return known;
    const { id } = identityOf(resource, homeNamespace);
    ids.set(resource, id);
    return id;
  }

  return {
    askIn: (clusterState, grants) => ({
      resolve: (kind, namespace, name) => idOf(clusterState[kind].get(keyOf(namespace, name))),
      read: (kind, namespace, name) => clusterState[kind].get(keyOf(namespace, name)),
      isReferenceAllowed: grants.allows,
      namespacesOpenTo: grants.opened,
    }),
    idOf,
  };
}
