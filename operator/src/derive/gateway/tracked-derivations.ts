/**
 * Records what each Gateway and route looks up while it is derived, and marks it to be derived again when something
 * changes that it looked up.
 */
import {
  clusterScopedKey,
  grantsIntoKey,
  namespacedName,
  parseRefKey,
  Relation,
  type Resource,
  type TranslateOptions,
} from "@sluice/crds";
import type { Logger } from "pino";
import { createGrantIndex } from "../../translate/references/grant-index.ts";
import type { ClusterState, WatchedKind } from "../../watch/cluster-state.ts";

/** Lookups that are recorded. */
export interface TrackedLookups extends Pick<TranslateOptions, "isReferenceAllowed"> {
  readonly read: (kind: WatchedKind, namespace: string, name: string) => Resource | undefined;
  readonly gatewayClass: (name: string) => Resource | undefined;
  /** Undefined: the namespace is unknown. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined;
  /** Records a lookup of the caller's own. */
  readonly record: (key: string) => void;
}

export interface TrackedDerivations {
  /**
   * Derives a Gateway or route, and records its lookups, whether or not they found anything. No API server validates
   * the resources of a directory: the result for one of an unexpected shape is undefined.
   *
   * @param ref The `refKey` of the Gateway or route.
   */
  derive<Result>(ref: string, derive: (lookups: TrackedLookups) => Result | undefined): Result | undefined;
  markGateway(key: string): void;
  /** @param ref The `refKey` of the route. */
  markRoute(ref: string): void;
  /** Marks the Gateways and routes that looked up this key. */
  markUsers(key: string): void;
  /** Marks the Gateways and routes that depend on the ReferenceGrant (`namespace/name`), which has changed. */
  markUsersOfGrant(key: string): void;
  /** The Gateways and routes that looked up this key, by `refKey`. */
  usersOf(key: string): Iterable<string>;
  /** Returns the marked Gateways (`namespace/name`), and removes the marks. */
  takeGateways(): ReadonlySet<string>;
  /** Returns the `refKey`s of the marked routes, and removes the marks. */
  takeRoutes(): ReadonlySet<string>;
}

export function createTrackedDerivations(clusterState: ClusterState, log: Pick<Logger, "warn">): TrackedDerivations {
  /** Gateways and routes, and the keys that they looked up. */
  const index = new Relation<string, string>();
  const grants = createGrantIndex([]);
  let markedGateways = new Set<string>();
  let markedRoutes = new Set<string>();

  function markUsers(key: string): void {
    for (const user of index.leftsOf(key)) {
      const { kind, key: name } = parseRefKey(user);
      if (kind === "Gateway") markedGateways.add(name);
      else markedRoutes.add(user);
    }
  }

  function lookupsInto(looked: Set<string>): TrackedLookups {
    return {
      read(kind, namespace, name) {
        const key = namespacedName(namespace, name);
        looked.add(`${kind}/${key}`);
        return clusterState[kind].get(key);
      },
      isReferenceAllowed(crossing) {
        looked.add(grantsIntoKey(crossing.to.namespace));
        return grants.isReferenceAllowed(crossing);
      },
      gatewayClass(name) {
        const key = clusterScopedKey(name);
        looked.add(`GatewayClass/${key}`);
        return clusterState.GatewayClass.get(key);
      },
      namespaceLabels(namespace) {
        const key = clusterScopedKey(namespace);
        looked.add(`Namespace/${key}`);
        const known = clusterState.Namespace.get(key);
        return known && (known.metadata.labels ?? {});
      },
      record: (key) => void looked.add(key),
    };
  }

  return {
    derive(ref, derive) {
      const looked = new Set<string>();
      try {
        return derive(lookupsInto(looked));
      } catch (error) {
        log.warn({ resource: ref, reason: (error as Error).message }, "cannot read a resource");
        return undefined;
      } finally {
        index.set(ref, looked);
      }
    },
    markGateway: (key) => void markedGateways.add(key),
    markRoute: (ref) => void markedRoutes.add(ref),
    markUsers,
    markUsersOfGrant(key) {
      for (const lookup of grants.set(key, clusterState.ReferenceGrant.get(key))) markUsers(lookup);
    },
    usersOf: (key) => index.leftsOf(key),
    takeGateways() {
      const taken = markedGateways;
      markedGateways = new Set();
      return taken;
    },
    takeRoutes() {
      const taken = markedRoutes;
      markedRoutes = new Set();
      return taken;
    },
  };
}
