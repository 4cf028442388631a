/**
 * Derives Sluice resources and the listeners of the document from resources of the Gateway API. A Gateway or route is
 * derived again when it changes, or when something changes that it looked up.
 */
import {
  type BackendTlsFacts,
  classParametersFault,
  type DerivedGateway,
  type DerivedListenerSet,
  type DerivedRoute,
  isOwnGatewayClass,
  type ListenerOwnerKind,
  namespacedName,
  ownerOfListener,
  parametersOfClass,
  parseRefKey,
  Relation,
  type Resource,
  type ResourceClient,
  type RouteKind,
  resourceKey,
  routeKinds,
} from "@sluice/crds";
import type { BucketMap, DocumentListener } from "@sluice/model";
import type { Logger } from "pino";
import type { WatchedKind } from "../../watch/cluster-state.ts";
import type { ChangedResource, WatchStage } from "../../watch/watch-stage.ts";
import type { DerivedChanges, Deriver } from "../deriver.ts";
import { createBackendTlsPolicies } from "./backend-tls-policies.ts";
import { createDerivedGateways } from "./derived-gateways.ts";
import { backendTlsKey, createDerivedRoutes } from "./derived-routes.ts";
import type { GatewayNetwork } from "./gateway-network.ts";
import { createListenerSetIndex } from "./listener-set-index.ts";
import { createTrackedDerivations } from "./tracked-derivations.ts";

export interface GatewayDeriver extends Deriver {
  /** The GatewayClasses of this installation, by name. */
  gatewayClasses(): readonly Resource[];
  /** What is wrong with the parameters of a GatewayClass, and what to change; undefined: they are valid. */
  gatewayClassFault(gatewayClass: Resource): string | undefined;
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

const isRouteKind = (kind: WatchedKind): kind is RouteKind => routeKinds.some((known) => known === kind);

export function createGatewayDeriver(options: GatewayDeriverOptions): GatewayDeriver {
  const { watch, class: className, network } = options;
  const { clusterState } = watch;
  const setsOf = createListenerSetIndex(clusterState);
  const attached = createAttachedRoutes();
  const tracking = createTrackedDerivations(clusterState, options.log);
  const policies = createBackendTlsPolicies({ ...options, clusterState });
  const owners = createDerivedGateways({ ...options, clusterState, tracking, setsOf });
  const { gateways, listenerSets } = owners;
  const derivedRoutes = createDerivedRoutes({ clusterState, class: className, tracking, owners, policies });
  const { routes } = derivedRoutes;
  /** Whether everything was read once. Afterwards, an object that is not read yet delays only its user. */
  let isStarted = false;

  /** GatewayClasses whose parameters have changed. */
  const changedClasses = new Set<string>();
  const gatewayClasses = () =>
    [...clusterState.GatewayClass.values()].filter((one) => isOwnGatewayClass(one, className));

  function gatewaysUsing(services: readonly string[]): BackendTlsFacts["gateways"] {
    const keys = services.flatMap((service) =>
      [...tracking.usersOf(backendTlsKey(service))].flatMap(
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
      const missing = isStarted ? [] : [...owners.unsettled(), ...policies.unsettled()];
      isStarted ||= missing.length === 0 && watch.unsynced().length === 0;
      return missing;
    },
    gatewayClasses,
    gatewayClassFault: (gatewayClass) =>
      classParametersFault(gatewayClass, {
        readParameters: (namespace, name) => clusterState.GatewayParameters.get(namespacedName(namespace, name)),
        dedicatedFault: network.dedicatedFault,
      }),
    attachedRoutes: attached.countOf,
    listeners: owners.listeners,
    observe(changed: ChangedResource) {
      const { kind, key, isMeaningful } = changed;
      if (!isMeaningful) return;
      policies.observe(changed);
      if (kind === "GatewayParameters")
        for (const one of gatewayClasses()) if (parametersOfClass(one) === key) changedClasses.add(resourceKey(one));
      if (kind === "Gateway") tracking.markGateway(key);
      else if (kind === "ListenerSet") for (const gateway of setsOf.update(key)) tracking.markGateway(gateway);
      else if (isRouteKind(kind)) tracking.markRoute(`${kind}/${key}`);
      else if (kind === "ReferenceGrant") tracking.markUsersOfGrant(key);
      else tracking.markUsers(`${kind}/${key}`);
    },
    derive() {
      const changes: DerivedChanges = new Map();
      const changedServices = new Set(policies.derive());
      for (const service of changedServices) tracking.markUsers(backendTlsKey(service));
      const changedOwners = owners.derive(changes);
      const changedRoutes = derivedRoutes.derive(changes, changedServices);
      for (const key of changedRoutes) {
        const ids = new Set(routes.get(key)?.parents.flatMap((parent) => parent.listeners));
        for (const owner of attached.set(key, ids)) if (!changedOwners.has(owner)) changedOwners.set(owner, false);
      }
      const changedPolicies = new Set([...changedServices].flatMap((service) => [...policies.policiesOf(service)]));
      const classes = [...changedClasses];
      changedClasses.clear();
      return {
        changes,
        sources: [
          ...classes.map((key) => ({ kind: "GatewayClass", key, isMeaningful: false }) as const),
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

/** Counts the routes that have attached to each listener. */
function createAttachedRoutes() {
  /** Routes, and the listeners (names in the document) to which they have attached. */
  const attached = new Relation<string, string>();

  return {
    /**
     * Replaces the listeners of a route. Returns the Gateways and ListenerSets whose listeners have other numbers of
     * routes than before, by their `refKey`.
     */
    set(route: string, listeners: ReadonlySet<string>): ReadonlySet<string> {
      const before = attached.set(route, listeners);
      return new Set([...before.symmetricDifference(listeners)].map(ownerOfListener));
    },
    countOf: (listener: string): number => attached.leftsOf(listener).size,
  };
}
