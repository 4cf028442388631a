/** Clients reach each Gateway through a Service of its own, which leads to ports that are allotted on the nodes. */
import { isDeepStrictEqual } from "node:util";
import { type GatewayAddressStatus, type Resource, resourceKey } from "@sluice/crds";
import { SettingsError, SHARED_FLEET } from "@sluice/model";
import type { GatewayNetwork } from "../derive/gateway/gateway-network.ts";
import { createListenerSetIndex } from "../derive/gateway/listener-set-index.ts";
import { serviceAddresses } from "../derive/gateway-addresses.ts";
import { createEmitter } from "../emitter.ts";
import type { NodeService } from "../publish/node-discovery.ts";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import type { WatchStage } from "../watch/watch-stage.ts";
import { createFleetMoves, type FleetMovesOptions } from "./fleet-moves.ts";
import { nodePortsIn } from "./gateway-service.ts";
import { createNodePorts } from "./node-ports.ts";
import { FLEET_LABEL, gatewayObjectName, gatewayOfObject } from "./object-names.ts";

export interface ServiceNetworkOptions extends Pick<FleetMovesOptions, "delay"> {
  readonly watch: Pick<WatchStage, "clusterState" | "changes">;
  readonly settings: Pick<OperatorSettings, "class" | "gatewayFirstPort" | "gatewayLastPort">;
  readonly nodeService: Pick<NodeService, "namespace">;
  /** Whether Gateways may have nodes of their own. */
  readonly createsNodes: boolean;
}

export interface ServiceNetwork extends GatewayNetwork {
  /** The present Services of Gateways, by the Gateway (`namespace/name`). */
  readonly services: ReadonlyMap<string, Resource>;
  /** The headless Services of the nodes of single Gateways, by the Gateway. */
  readonly pushServices: ReadonlyMap<string, Resource>;
  /** The fleet to which the Service of a Gateway (`namespace/name`) leads; undefined: it has no Service. */
  fleetOf(gateway: string): string | undefined;
  /** Whether connections may still reach the fleet to which the Service of a Gateway (`namespace/name`) led before. */
  isLeavingFleet(gateway: string): boolean;
}

/** @throws SettingsError when the range of ports is empty. */
export function createServiceNetwork(options: ServiceNetworkOptions): ServiceNetwork {
  const { watch, settings, nodeService, createsNodes } = options;
  const { clusterState } = watch;
  const { gatewayFirstPort, gatewayLastPort } = operatorSettings;
  if (settings.gatewayFirstPort > settings.gatewayLastPort)
    throw new SettingsError(`${gatewayFirstPort.variable} must not be higher than ${gatewayLastPort.variable}`);
  const ports = createNodePorts({ first: settings.gatewayFirstPort, last: settings.gatewayLastPort });
  const changes = createEmitter<ReadonlySet<string>>();
  const services = new Map<string, Resource>();
  const pushServices = new Map<string, Resource>();
  const moves = createFleetMoves({ ...options, onLeft: (gateway) => changes.emit(new Set([gateway])) });
  /** The Gateway of each known Service (`namespace/name`), because a deleted Service cannot be asked. */
  const gateways = new Map<string, string>();
  /** The same for the headless Services of nodes. */
  const pushGateways = new Map<string, string>();
  const listenerSets = createListenerSetIndex(clusterState);

  watch.changes.subscribe(({ resources }) => {
    const changed = new Set<string>();
    /** Each is checked once, however many of its ListenerSets have changed. */
    const users = new Set<string>();
    for (const { kind, key } of resources) {
      if (kind === "Gateway") users.add(key);
      else if (kind === "ListenerSet") for (const gateway of listenerSets.update(key)) users.add(gateway);
      else if (kind === "CoreService") for (const gateway of serviceChanged(key)) changed.add(gateway);
    }
    for (const user of users) for (const gateway of freeUnused(user)) changed.add(gateway);
    if (changed.size > 0) changes.emit(changed);
  });

  /**
   * A Service keeps its ports until it is deleted: clients can still connect to it after its Gateway is gone.
   * Returns the Gateways that may get a freed port.
   */
  function freeUnused(gateway: string): ReadonlySet<string> {
    const service = services.get(gateway);
    const recorded = service ? nodePortsIn(service).keys() : [];
    const present = clusterState.Gateway.get(gateway);
    const owners = present ? [present, ...listenerSets.of(gateway)] : [];
    return ports.retain(gateway, new Set([...owners.flatMap(portsIn), ...recorded]));
  }

  /** Returns the Gateways whose ports, addresses or fleets may have changed. */
  function serviceChanged(key: string): ReadonlySet<string> {
    const service = clusterState.CoreService.get(key);
    const isNear = service?.metadata.namespace === nodeService.namespace;
    const gateway = service && isNear ? gatewayOfObject(service, settings.class) : undefined;
    if (pushGateways.has(key) || service?.metadata.labels?.[FLEET_LABEL] !== undefined)
      return pushServiceChanged(key, service, gateway);
    const before = gateways.get(key);
    let changed: ReadonlySet<string> = new Set();
    if (before !== undefined && before !== gateway) {
      gateways.delete(key);
      services.delete(before);
      moves.set(before, undefined);
      changed = new Set([before]).union(freeUnused(before));
    }
    if (!service || gateway === undefined) return changed;
    const known = services.get(gateway);
    gateways.set(key, gateway);
    services.set(gateway, service);
    const hasMoved = moves.set(gateway, service);
    if (hasMoved || !isDeepStrictEqual(known && addressesIn(known), addressesIn(service)))
      changed = changed.union(new Set([gateway]));
    return changed.union(ports.adopt(gateway, nodePortsIn(service))).union(freeUnused(gateway));
  }

  function pushServiceChanged(
    key: string,
    service: Resource | undefined,
    gateway: string | undefined,
  ): ReadonlySet<string> {
    const changed = new Set<string>();
    const before = pushGateways.get(key);
    if (before !== undefined && before !== gateway) {
      pushGateways.delete(key);
      pushServices.delete(before);
      changed.add(before);
    }
    if (!service || gateway === undefined) return changed;
    if (!pushServices.has(gateway)) changed.add(gateway);
    pushGateways.set(key, gateway);
    pushServices.set(gateway, service);
    return changed;
  }

  return {
    changes,
    services,
    pushServices,
    dedicatedFault: createsNodes
      ? undefined
      : `the operator creates no nodes: set ${operatorSettings.nodeDeployment.variable} (chart: gatewayApi.dedicatedNodes)`,
    fleetOf: moves.fleetOf,
    isLeavingFleet: moves.isLeaving,
    fleetsOf(gateway, parameters) {
      const key = resourceKey(gateway);
      const own = gatewayObjectName(gateway, settings.class);
      const present = moves.fleetsOf(key);
      if (!parameters) return present;
      // A Gateway's own nodes open its ports until they are removed, even if its Service no longer leads to them.
      if (parameters.nodes === "Shared") return pushServices.has(key) ? [SHARED_FLEET, own] : [SHARED_FLEET];
      return present.includes(SHARED_FLEET) ? [own, SHARED_FLEET] : [own];
    },
    nodePortOf: (gateway, port) => ports.portOf(resourceKey(gateway), port),
    addressesOf(gateway) {
      const service = services.get(resourceKey(gateway));
      return service ? addressesIn(service) : [];
    },
  };
}

const portsIn = ({ spec }: Resource): readonly number[] =>
  ((spec?.listeners ?? []) as readonly { readonly port: number }[]).map(({ port }) => port);

const addressesIn = (service: Resource): readonly GatewayAddressStatus[] =>
  serviceAddresses(service).flatMap(({ ip, hostname }) => [
    ...(ip === undefined ? [] : [{ type: "IPAddress" as const, value: ip }]),
    ...(hostname === undefined ? [] : [{ type: "Hostname" as const, value: hostname }]),
  ]);
