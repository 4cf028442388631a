/**
 * Derives Sluice resources and the listeners of the document from resources of the Gateway API. A Gateway or route is
 * derived again when it changes, or when something changes that it looked up.
 */
import { isDeepStrictEqual } from "node:util";
import {
  allListeners,
  type BackendTlsFacts,
  clusterScopedKey,
  type DerivedGateway,
  type DerivedListenerSet,
  type DerivedRoute,
  deriveGateway,
  deriveRoute,
  grantsIntoKey,
  isOwnGateway,
  isOwnGatewayClass,
  type ListenerOwnerKind,
  namespacedName,
  parseRefKey,
  Relation,
  type Resource,
  type ResourceClient,
  type RouteKind,
  resourceKey,
  routeKinds,
  type TranslateOptions,
} from "@sluice/crds";
import { BucketMap, byHash, type DocumentListener } from "@sluice/model";
import type { Logger } from "pino";
import { createGrantIndex } from "../../translate/references/grant-index.ts";
import type { WatchedKind } from "../../watch/cluster-state.ts";
import { createNamedObjects, type NamedObjectRef } from "../../watch/named-objects.ts";
import type { ChangedResource, WatchStage } from "../../watch/watch-stage.ts";
import { type DerivedChanges, type Deriver, recordReplacement } from "../deriver.ts";
import { createAttachedRoutes } from "./attached-routes.ts";
import { createBackendTlsPolicies } from "./backend-tls-policies.ts";
import type { GatewayNetwork } from "./gateway-network.ts";
import { createListenerOverlaps } from "./listener-overlaps.ts";
import { listenerOwnerOf } from "./listener-owners.ts";
import { createListenerSetIndex } from "./listener-set-index.ts";
import { createRouteConflicts } from "./route-conflicts.ts";

export interface GatewayDeriver extends Deriver {
  /** The GatewayClasses of this installation, by name. */
  gatewayClasses(): readonly Resource[];
  /** The Gateways of this installation, by `namespace/name`. */
  readonly gateways: ReadonlyMap<string, DerivedGateway>;
  /** The ListenerSets of these Gateways, by `namespace/name`. */
  readonly listenerSets: ReadonlyMap<string, DerivedListenerSet>;
  /** All routes by `refKey`. */
  readonly routes: ReadonlyMap<string, DerivedRoute>;
  /** The number of routes that have attached to a listener, by its name in the document. */
  attachedRoutes(listener: string): number;
  /** The listeners of the document, by name. */
  listeners(): BucketMap<DocumentListener>;
  readonly backendTls: {
    /** All BackendTLSPolicies, by `namespace/name`. */
    keys(): Iterable<string>;
    /** Undefined: there is no such policy, or its certificates were not read yet. */
    get(key: string): BackendTlsFacts | undefined;
  };
  /** At the start, the objects that Gateways and policies name and whose first read has not ended. */
  unsynced(): readonly string[];
}

export interface GatewayDeriverOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "unsynced">;
  /** The class of the installation. */
  readonly class: string;
  readonly network: GatewayNetwork;
  readonly log: Pick<Logger, "warn">;
  readonly client: Pick<ResourceClient, "watch">;
  readonly signal: AbortSignal;
  /** Called when Gateways were marked without a change of the cluster state. */
  readonly onChange: () => void;
}

/** Lookups that record what was looked up. */
type TrackedLookups = Pick<TranslateOptions, "read" | "isReferenceAllowed"> & {
  readonly lookups: Set<string>;
};

/** The first part of the keys by which routes look up the policies of core Services. */
const BACKEND_TLS = "BackendTLS";

const isRouteKind = (kind: WatchedKind): kind is RouteKind => routeKinds.some((known) => known === kind);

export function createGatewayDeriver(options: GatewayDeriverOptions): GatewayDeriver {
  const { watch, client, signal, class: className, network, log, onChange } = options;
  const { clusterState } = watch;
  const gateways = new Map<string, DerivedGateway>();
  const listenerSets = new Map<string, DerivedListenerSet>();
  const routes = new Map<string, DerivedRoute>();
  /** Gateways and routes, and the keys that they looked up, whether or not anything with these keys exists. */
  const index = new Relation<string, string>();
  const setsOf = createListenerSetIndex(clusterState);
  const attached = createAttachedRoutes();
  const overlaps = createListenerOverlaps();
  const routeConflicts = createRouteConflicts();
  const grants = createGrantIndex([]);
  const policies = createBackendTlsPolicies({ clusterState, client, signal, log, onChange });
  let listeners = new BucketMap<DocumentListener>(byHash);
  let markedGateways = new Set<string>();
  /** Gateways whose ports or addresses may have changed. */
  let movedGateways = new Set<string>();
  let markedRoutes = new Set<string>();
  /** Whether everything was read once. Afterwards, an object that is not read yet delays only its user. */
  let isStarted = false;

  const named = createNamedObjects({
    ...options,
    onChange(users) {
      for (const key of users) markedGateways.add(key);
      onChange();
    },
  });

  network.changes.subscribe((keys) => {
    for (const key of keys) {
      markedGateways.add(key);
      movedGateways.add(key);
    }
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

  function namespaceLabelsOf(namespace: string, lookups: Set<string>) {
    const key = clusterScopedKey(namespace);
    lookups.add(`Namespace/${key}`);
    const known = clusterState.Namespace.get(key);
    return known && (known.metadata.labels ?? {});
  }

  /**
   * Undefined: the Gateway is gone, belongs to another controller, or cannot be read. A Gateway that newly names an
   * object stays as it was until the object has been read, except for ListenerSets that have left it.
   */
  function gatewayAfter(key: string): DerivedGateway | undefined {
    const objects: NamedObjectRef[] = [];
    const gateway = clusterState.Gateway.get(key);
    const { lookups, ...reading } = tracked();
    const derived =
      gateway &&
      readable("Gateway", key, () => {
        if (!isOwnGateway(gateway, className, (name) => gatewayClassOf(name, lookups))) return undefined;
        if (gateway.metadata.deletionTimestamp !== undefined) return undefined;
        const nodePortOf = (port: number) => network.nodePortOf(gateway, port);
        return deriveGateway(gateway, {
          ...reading,
          class: className,
          nodePortOf,
          overlapOf: overlaps.overlapOf,
          listenerSets: setsOf.of(key),
          namespaceLabels: (namespace) => namespaceLabelsOf(namespace, lookups),
          readNamed(kind, namespace, name) {
            objects.push({ kind, namespace, name });
            return named.read(key, { kind, namespace, name });
          },
        });
      });
    index.set(`Gateway/${key}`, lookups);
    named.keepOnly(key, objects);
    return derived && !objects.every(named.isSettled) ? setsOf.withoutMoved(gateways.get(key) ?? derived) : derived;
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
          backendTlsOf({ namespace, name }, portName) {
            const service = namespacedName(namespace, name);
            lookups.add(`${BACKEND_TLS}/${service}`);
            return policies.policyFor(service, portName);
          },
          readPlugin(name) {
            const plugin = namespacedName(route.metadata.namespace, name);
            lookups.add(`Plugin/${plugin}`);
            return clusterState.Plugin.get(plugin);
          },
          ownerOf(ownerKind, owner) {
            lookups.add(`${ownerKind}/${owner}`);
            return listenerOwnerOf({ gateways, listenerSets }, ownerKind, owner);
          },
          conflictOf: (listener) => routeConflicts.conflictOf(listener, ref),
          namespaceLabels: (namespace) => namespaceLabelsOf(namespace, lookups),
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

  /**
   * Returns the `refKey` of each marked Gateway, and of each ListenerSet whose result differs, with whether its listeners
   * in the document have changed.
   */
  function deriveGateways(changes: DerivedChanges): Map<string, boolean> {
    const results = new Map<string, boolean>();
    const [marked, moved] = [markedGateways, movedGateways];
    [markedGateways, movedGateways] = [new Set(), new Set()];
    for (const key of marked) {
      deriveOne(key);
      overlaps.set(key, gateways.get(key));
    }
    // What a Gateway wants to have served does not depend on the other Gateways.
    for (const key of overlaps.resolve()) deriveOne(key);
    for (const key of moved)
      for (const { listenerSet } of gateways.get(key)?.listenerSets ?? [])
        record(`ListenerSet/${resourceKey(listenerSet)}`, false);
    return results;

    function record(ref: string, differs: boolean): void {
      results.set(ref, differs || results.get(ref) === true);
    }

    function deriveOne(key: string): void {
      const before = gateways.get(key);
      const after = gatewayAfter(key);
      if (after) gateways.set(key, after);
      else gateways.delete(key);
      recordReplacement(changes, before?.resources ?? [], after?.resources ?? []);
      const hasOtherCertificate = !isDeepStrictEqual(before?.backendCertificate, after?.backendCertificate);
      const differs = !isDeepStrictEqual(before?.listeners, after?.listeners);
      if (differs || hasOtherCertificate) markUsers(`Gateway/${key}`);
      if (hasOtherCertificate)
        for (const { listenerSet } of after?.listenerSets ?? []) markUsers(`ListenerSet/${resourceKey(listenerSet)}`);
      const isDocumentChanged = replaceSets(before?.listenerSets ?? [], after?.listenerSets ?? []) || differs;
      record(`Gateway/${key}`, isDocumentChanged);
      if (!isDocumentChanged) return;
      const served = new Map<string, DocumentListener | undefined>();
      for (const { id } of before ? allListeners(before) : []) served.set(id, undefined);
      for (const { id, served: listener } of after ? allListeners(after) : []) {
        if (isDeepStrictEqual(listeners.get(id), listener)) served.delete(id);
        else served.set(id, listener);
      }
      listeners = listeners.with(served);
    }

    /** Returns whether any of the ListenerSets differs. */
    function replaceSets(before: readonly DerivedListenerSet[], after: readonly DerivedListenerSet[]): boolean {
      const previous = new Map(before.map((one) => [resourceKey(one.listenerSet), one]));
      const next = new Map(after.map((one) => [resourceKey(one.listenerSet), one]));
      let isDifferent = false;
      for (const key of new Set([...previous.keys(), ...next.keys()])) {
        const [old, one] = [previous.get(key), next.get(key)];
        // The ListenerSet may already belong to another Gateway.
        if (one) listenerSets.set(key, one);
        else if (listenerSets.get(key) === old) listenerSets.delete(key);
        recordReplacement(changes, old?.resources ?? [], listenerSets.get(key)?.resources ?? []);
        if (old && one && isDeepStrictEqual([old.accepted, old.listeners], [one.accepted, one.listeners])) continue;
        record(`ListenerSet/${key}`, true);
        markUsers(`ListenerSet/${key}`);
        isDifferent = true;
      }
      return isDifferent;
    }
  }

  /**
   * Returns the `refKey`s of the routes that were derived again.
   *
   * @param changedServices Gets the backends of these routes: the Gateways of a route are in the statuses of the policies
   * for its backends.
   */
  function deriveRoutes(changes: DerivedChanges, changedServices: Set<string>): ReadonlySet<string> {
    const marked = markedRoutes;
    markedRoutes = new Set();
    for (const key of marked) {
      deriveOne(key);
      routeConflicts.set(key, routes.get(key));
    }
    // The listeners to which a route wants to attach do not depend on the other routes.
    const excluded = routeConflicts.resolve();
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
  }

  function gatewaysUsing(services: readonly string[]): BackendTlsFacts["gateways"] {
    const keys = services.flatMap((service) =>
      [...index.leftsOf(`${BACKEND_TLS}/${service}`)].flatMap(
        (route) => routes.get(route)?.parents.map(({ gateway }) => gateway) ?? [],
      ),
    );
    return [...new Set(keys)].sort().flatMap((key) => gateways.get(key)?.gateway.metadata ?? []);
  }

  return {
    gateways,
    listenerSets,
    routes,
    backendTls: {
      keys: policies.keys,
      get(key) {
        const facts = policies.get(key);
        return facts && { ...facts, gateways: gatewaysUsing(facts.services) };
      },
    },
    unsynced() {
      const missing = isStarted ? [] : [...named.unsettled(), ...policies.unsettled()];
      isStarted ||= missing.length === 0 && watch.unsynced().length === 0;
      return missing;
    },
    gatewayClasses: () => [...clusterState.GatewayClass.values()].filter((one) => isOwnGatewayClass(one, className)),
    attachedRoutes: attached.countOf,
    listeners: () => listeners,
    observe(changed: ChangedResource) {
      const { kind, key, isMeaningful } = changed;
      if (!isMeaningful) return;
      policies.observe(changed);
      if (kind === "Gateway") markedGateways.add(key);
      else if (kind === "ListenerSet") {
        for (const gateway of setsOf.update(key)) markedGateways.add(gateway);
      } else if (isRouteKind(kind)) markedRoutes.add(`${kind}/${key}`);
      else if (kind === "ReferenceGrant")
        for (const lookup of grants.set(key, clusterState.ReferenceGrant.get(key))) markUsers(lookup);
      else markUsers(`${kind}/${key}`);
    },
    derive() {
      const changes: DerivedChanges = new Map();
      const changedServices = new Set(policies.derive());
      for (const service of changedServices) markUsers(`${BACKEND_TLS}/${service}`);
      const changedOwners = deriveGateways(changes);
      const changedRoutes = deriveRoutes(changes, changedServices);
      for (const key of changedRoutes) {
        const ids = new Set(routes.get(key)?.parents.flatMap((parent) => parent.listeners));
        for (const owner of attached.set(key, ids)) if (!changedOwners.has(owner)) changedOwners.set(owner, false);
      }
      const changedPolicies = new Set([...changedServices].flatMap((service) => [...policies.policiesOf(service)]));
      return {
        changes,
        sources: [
          ...[...changedOwners].map(([ref, isMeaningful]) => {
            const { kind, key } = parseRefKey(ref);
            return { kind: kind as ListenerOwnerKind, key, isMeaningful };
          }),
          ...[...changedRoutes].map((ref) => {
            const { kind, key } = parseRefKey(ref);
            return { kind: kind as RouteKind, key, isMeaningful: false };
          }),
          ...[...changedPolicies].map((key) => ({ kind: "BackendTLSPolicy", key, isMeaningful: false }) as const),
        ],
      };
    },
  };
}
