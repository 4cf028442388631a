/**
 * Derives Sluice resources and the listeners of the document from resources of the Gateway API. A Gateway or route is
 * derived again when it changes, or when something changes that it looked up.
 */
import { isDeepStrictEqual } from "node:util";
import {
  clusterScopedKey,
  type DerivedGateway,
  type DerivedRoute,
  deriveGateway,
  deriveRoute,
  grantsIntoKey,
  isOwnGateway,
  isOwnGatewayClass,
  namespacedName,
  parseRefKey,
  Relation,
  type Resource,
  type RouteKind,
  routeKinds,
  type TranslateOptions,
} from "@sluice/crds";
import { BucketMap, byHash, type DocumentListener } from "@sluice/model";
import type { Logger } from "pino";
import { createGrantIndex } from "../../translate/references/grant-index.ts";
import type { ClusterState, WatchedKind } from "../../watch/cluster-state.ts";
import type { ChangedResource } from "../../watch/watch-stage.ts";
import { type DerivedChanges, type Deriver, recordReplacement } from "../deriver.ts";
import { createAttachedRoutes } from "./attached-routes.ts";
import type { GatewayNetwork } from "./gateway-network.ts";
import { createListenerOverlaps } from "./listener-overlaps.ts";

export interface GatewayDeriver extends Deriver {
  /** The GatewayClasses of this installation, by name. */
  gatewayClasses(): readonly Resource[];
  /** The Gateways of this installation, by `namespace/name`. */
  readonly gateways: ReadonlyMap<string, DerivedGateway>;
  /** All routes by `refKey`. */
  readonly routes: ReadonlyMap<string, DerivedRoute>;
  /** The number of routes that have attached to a listener, by its name in the document. */
  attachedRoutes(listener: string): number;
  /** The listeners of the document, by name. */
  listeners(): BucketMap<DocumentListener>;
}

export interface GatewayDeriverOptions {
  readonly clusterState: ClusterState;
  /** The class of the installation. */
  readonly class: string;
  readonly network: GatewayNetwork;
  readonly log: Pick<Logger, "warn">;
  /** Called when Gateways were marked without a change of the cluster state. */
  readonly onChange: () => void;
}

/** Lookups that record what was looked up. */
type TrackedLookups = Pick<TranslateOptions, "read" | "isReferenceAllowed"> & {
  readonly lookups: Set<string>;
};

const isRouteKind = (kind: WatchedKind): kind is RouteKind => routeKinds.some((known) => known === kind);

export function createGatewayDeriver(options: GatewayDeriverOptions): GatewayDeriver {
  const { clusterState, class: className, network, log, onChange } = options;
  const gateways = new Map<string, DerivedGateway>();
  const routes = new Map<string, DerivedRoute>();
  /** Gateways and routes, and the keys that they looked up, whether or not anything with these keys exists. */
  const index = new Relation<string, string>();
  const attached = createAttachedRoutes();
  const overlaps = createListenerOverlaps();
  const grants = createGrantIndex([]);
  let listeners = new BucketMap<DocumentListener>(byHash);
  let markedGateways = new Set<string>();
  let markedRoutes = new Set<string>();

  network.changes.subscribe((keys) => {
    for (const key of keys) markedGateways.add(key);
    onChange();
  });

  function markUsers(key: string): void {
    for (const user of index.leftsOf(key)) {
      const { kind, key: name } = parseRefKey(user);
      if (kind === "Gateway") markedGateways.add(name);
      else markedRoutes.add(user);
    }
  }

  function tracked(): TrackedLookups {
    const lookups = new Set<string>();
    return {
      lookups,
      read(kind, namespace, name) {
        const key = namespacedName(namespace, name);
        lookups.add(`${kind}/${key}`);
        return clusterState[kind].get(key);
      },
      isReferenceAllowed(crossing) {
        lookups.add(grantsIntoKey(crossing.to.namespace));
        return grants.isReferenceAllowed(crossing);
      },
    };
  }

  function gatewayClassOf(name: string, lookups: Set<string>): Resource | undefined {
    const key = clusterScopedKey(name);
    lookups.add(`GatewayClass/${key}`);
    return clusterState.GatewayClass.get(key);
  }

  /** Undefined: the Gateway is gone, belongs to another controller, or cannot be read. */
  function gatewayAfter(key: string): DerivedGateway | undefined {
    const gateway = clusterState.Gateway.get(key);
    const { lookups, ...reading } = tracked();
    const derived =
      gateway &&
      readable("Gateway", key, () => {
        if (!isOwnGateway(gateway, className, (name) => gatewayClassOf(name, lookups))) return undefined;
        if (gateway.metadata.deletionTimestamp !== undefined) return undefined;
        const nodePortOf = (port: number) => network.nodePortOf(gateway, port);
        return deriveGateway(gateway, { ...reading, class: className, nodePortOf, overlapOf: overlaps.overlapOf });
      });
    index.set(`Gateway/${key}`, lookups);
    return derived;
  }

  /** @param ref The `refKey` of the route. */
  function routeAfter(ref: string): DerivedRoute | undefined {
    const { kind, key } = parseRefKey(ref);
    const route = clusterState[kind as RouteKind].get(key);
    const { lookups, ...reading } = tracked();
    const derived =
      route &&
      readable(kind, key, () =>
        deriveRoute(route, {
          ...reading,
          class: className,
          readPlugin(name) {
            const plugin = namespacedName(route.metadata.namespace, name);
            lookups.add(`Plugin/${plugin}`);
            return clusterState.Plugin.get(plugin);
          },
          gatewayOf(gateway) {
            lookups.add(`Gateway/${gateway}`);
            return gateways.get(gateway);
          },
          namespaceLabels(namespace) {
            const namespaceKey = clusterScopedKey(namespace);
            lookups.add(`Namespace/${namespaceKey}`);
            const known = clusterState.Namespace.get(namespaceKey);
            return known && (known.metadata.labels ?? {});
          },
        }),
      );
    index.set(ref, lookups);
    return derived;
  }

  /** No API server validates the resources of a directory: one of an unexpected shape is left out. */
  function readable<Result>(kind: string, key: string, derive: () => Result): Result | undefined {
    try {
      return derive();
    } catch (error) {
      log.warn({ resource: `${kind}/${key}`, reason: (error as Error).message }, "cannot read a resource");
      return undefined;
    }
  }

  /** Returns for each marked Gateway whether its listeners in the document have changed. */
  function deriveGateways(changes: DerivedChanges): Map<string, boolean> {
    const results = new Map<string, boolean>();
    const marked = markedGateways;
    markedGateways = new Set();
    for (const key of marked) {
      deriveOne(key);
      overlaps.set(key, gateways.get(key));
    }
    // What a Gateway wants to have served does not depend on the other Gateways.
    for (const key of overlaps.resolve()) deriveOne(key);
    return results;

    function deriveOne(key: string): void {
      const before = gateways.get(key);
      const after = gatewayAfter(key);
      if (after) gateways.set(key, after);
      else gateways.delete(key);
      recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
      const differs = !isDeepStrictEqual(before?.listeners, after?.listeners);
      results.set(key, differs || results.get(key) === true);
      if (!differs) return;
      markUsers(`Gateway/${key}`);
      const served = new Map<string, DocumentListener | undefined>();
      for (const { id } of before?.listeners ?? []) served.set(id, undefined);
      for (const { id, served: listener } of after?.listeners ?? []) served.set(id, listener);
      listeners = listeners.with(served);
    }
  }

  return {
    gateways,
    routes,
    gatewayClasses: () => [...clusterState.GatewayClass.values()].filter((one) => isOwnGatewayClass(one, className)),
    attachedRoutes: attached.countOf,
    listeners: () => listeners,
    observe({ kind, key, isMeaningful }: ChangedResource) {
      if (!isMeaningful) return;
      if (kind === "Gateway") markedGateways.add(key);
      else if (isRouteKind(kind)) markedRoutes.add(`${kind}/${key}`);
      else if (kind === "ReferenceGrant")
        for (const lookup of grants.set(key, clusterState.ReferenceGrant.get(key))) markUsers(lookup);
      else markUsers(`${kind}/${key}`);
    },
    derive() {
      const changes: DerivedChanges = new Map();
      const changedGateways = deriveGateways(changes);
      const changedRoutes = markedRoutes;
      markedRoutes = new Set();
      for (const key of changedRoutes) {
        const before = routes.get(key);
        const after = routeAfter(key);
        recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
        const ids = new Set(after?.parents.flatMap((parent) => parent.listeners));
        for (const gateway of attached.set(key, ids))
          if (!changedGateways.has(gateway)) changedGateways.set(gateway, false);
        if (after) routes.set(key, after);
        else routes.delete(key);
      }
      return {
        changes,
        sources: [
          ...[...changedGateways].map(([key, isMeaningful]) => ({ kind: "Gateway", key, isMeaningful }) as const),
          ...[...changedRoutes].map((ref) => {
            const { kind, key } = parseRefKey(ref);
            return { kind: kind as RouteKind, key, isMeaningful: false };
          }),
        ],
      };
    },
  };
}
