/** Derives the marked routes, and keeps the results. */
import { type DerivedRoute, deriveRoute, namespacedName, parseRefKey, type RouteKind } from "@sluice/crds";
import type { ClusterState } from "../../watch/cluster-state.ts";
import { type DerivedChanges, recordReplacement } from "../deriver.ts";
import type { BackendTlsPolicies } from "./backend-tls-policies.ts";
import { type DerivedOwners, listenerOwnerOf } from "./listener-owners.ts";
import { createRouteConflicts } from "./route-conflicts.ts";
import type { TrackedDerivations } from "./tracked-derivations.ts";

export interface DerivedRoutesOptions {
  readonly clusterState: ClusterState;
  /** The class of the installation. */
  readonly class: string;
  readonly tracking: TrackedDerivations;
  readonly owners: DerivedOwners;
  readonly policies: Pick<BackendTlsPolicies, "policyFor">;
}

export interface DerivedRoutes {
  /** All routes by `refKey`. */
  readonly routes: ReadonlyMap<string, DerivedRoute>;
  /**
   * Derives the marked routes. Returns the `refKey`s of the routes that were derived.
   *
   * @param changedServices Gets the backends of these routes: the Gateways of a route are in the statuses of the policies
   * for its backends.
   */
  derive(changes: DerivedChanges, changedServices: Set<string>): ReadonlySet<string>;
}

/** The key by which routes look up the policies of a core Service (`namespace/name`). */
export const backendTlsKey = (service: string): string => `BackendTLS/${service}`;

export function createDerivedRoutes(options: DerivedRoutesOptions): DerivedRoutes {
  const { clusterState, class: className, tracking, owners, policies } = options;
  const routes = new Map<string, DerivedRoute>();
  const conflicts = createRouteConflicts();

  /** @param ref The `refKey` of the route. */
  function routeAfter(ref: string): DerivedRoute | undefined {
    const { kind, key } = parseRefKey(ref);
    return tracking.derive(ref, (lookups) => {
      const route = clusterState[kind as RouteKind].get(key);
      return (
        route &&
        deriveRoute(route, {
          ...lookups,
          class: className,
          backendTlsOf({ namespace, name }, portName) {
            const service = namespacedName(namespace, name);
            lookups.record(backendTlsKey(service));
            return policies.policyFor(service, portName);
          },
          readPlugin: (name) => lookups.read("Plugin", route.metadata.namespace, name),
          ownerOf(ownerKind, owner) {
            lookups.record(`${ownerKind}/${owner}`);
            return listenerOwnerOf(owners, ownerKind, owner);
          },
          conflictOf: (listener) => conflicts.conflictOf(listener, ref),
        })
      );
    });
  }

  return {
    routes,
    derive(changes, changedServices) {
      const marked = tracking.takeRoutes();
      for (const key of marked) {
        deriveOne(key);
        conflicts.set(key, routes.get(key));
      }
      // The listeners to which a route wants to attach do not depend on the other routes.
      const excluded = conflicts.resolve();
      for (const key of excluded) deriveOne(key);
      return marked.union(excluded);

      function deriveOne(key: string): void {
        const before = routes.get(key);
        const after = routeAfter(key);
        recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
        if (after) routes.set(key, after);
        else routes.delete(key);
        for (const service of [...(before?.services ?? []), ...(after?.services ?? [])]) changedServices.add(service);
      }
    },
  };
}
