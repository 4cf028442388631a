/** The ListenerSets of each Gateway, by their `spec.parentRef`. */
import { type DerivedGateway, parentOfListenerSet, Relation, type Resource, resourceKey } from "@sluice/crds";
import type { ClusterState } from "../../watch/cluster-state.ts";

export interface ListenerSetIndex {
  /**
   * Reads a ListenerSet (`namespace/name`) that has changed. Returns the Gateways that it names, and those that it named
   * before.
   */
  update(key: string): ReadonlySet<string>;
  /** The ListenerSets whose parent is the Gateway (`namespace/name`). */
  of(gateway: string): readonly Resource[];
  /** An earlier result for a Gateway, without the ListenerSets that have another parent now, or are gone. */
  withoutMoved(derived: DerivedGateway): DerivedGateway;
}

export function createListenerSetIndex(clusterState: Pick<ClusterState, "ListenerSet">): ListenerSetIndex {
  /** ListenerSets and their Gateways. */
  const parents = new Relation<string, string>();

  return {
    update(key) {
      const listenerSet = clusterState.ListenerSet.get(key);
      const isPresent = listenerSet !== undefined && listenerSet.metadata.deletionTimestamp === undefined;
      const parent = isPresent ? parentOfListenerSet(listenerSet) : undefined;
      const after = new Set(parent === undefined ? [] : [parent]);
      return parents.set(key, after).union(after);
    },
    of: (gateway) => [...parents.leftsOf(gateway)].flatMap((key) => clusterState.ListenerSet.get(key) ?? []),
    withoutMoved(derived) {
      const present = new Set(parents.leftsOf(resourceKey(derived.gateway)));
      return {
        ...derived,
        listenerSets: derived.listenerSets.filter(({ listenerSet }) => present.has(resourceKey(listenerSet))),
      };
    },
  };
}
