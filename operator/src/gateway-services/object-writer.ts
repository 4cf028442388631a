/**
 * Creates the objects of Gateways, keeps them up to date, and deletes those that are no longer needed: the Service of each
 * Gateway, and the nodes of Gateways with nodes of their own.
 */
import {
  type DerivedGateway,
  type GatewayParameters,
  type Metadata,
  namespacedName,
  type Resource,
  type ResourceClient,
  refKey,
} from "@sluice/crds";
import { SHARED_FLEET } from "@sluice/model";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { NodeService } from "../publish/node-discovery.ts";
import type { PublishStage } from "../publish/publish-stage.ts";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import { operatorSettings } from "../settings.ts";
import { type AppliedObjectsOptions, createAppliedObjects } from "./applied-objects.ts";
import { fleetSelector, isAutoscaled } from "./fleet-deployment.ts";
import type { FleetDeployments } from "./fleet-deployments.ts";
import { fleetObjects } from "./fleet-objects.ts";
import { createFleetReadiness, type FleetReadinessOptions, isAvailable } from "./fleet-readiness.ts";
import { type GatewayServiceOptions, gatewayService } from "./gateway-service.ts";
import { FLEET_LABEL, gatewayObjectName, gatewayOfObject } from "./object-names.ts";
import type { ServiceNetwork } from "./service-network.ts";

export interface ObjectWriterOptions extends Pick<FleetReadinessOptions, "translate"> {
  readonly derive: Pick<DeriveStage, "clusterState" | "changes" | "gateway">;
  /** Kinds that were not read yet. */
  readonly unsynced: () => readonly string[];
  readonly network: Pick<ServiceNetwork, "services" | "pushServices" | "fleetOf" | "isLeavingFleet">;
  /** Null: no Gateway gets nodes of its own. */
  readonly deployments: FleetDeployments | null;
  readonly publish: Pick<PublishStage, "progress"> & Pick<FleetReadinessOptions, "publisher">;
  readonly events: AppliedObjectsOptions["events"];
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly client: Pick<ResourceClient, "apply" | "get" | "remove">;
  readonly manager: string;
  readonly settings: GatewayServiceOptions["settings"];
  readonly nodeService: NodeService;
}

interface FleetToWrite {
  readonly derived: DerivedGateway;
  readonly parameters: GatewayParameters;
  readonly nodes: Resource;
}

/** Milliseconds between repetitions of failed writes. */
const RETRY_INTERVAL = 5000;
const PARALLEL_WRITES = 4;

export function createObjectWriter(options: ObjectWriterOptions) {
  const { derive, unsynced, network, deployments, publish, gate, client, settings, nodeService } = options;
  const { clusterState } = derive;
  const nodesKey = namespacedName(nodeService.namespace, nodeService.name);
  const readiness = createFleetReadiness({ translate: options.translate, publisher: publish.publisher });
  /** The Gateways (`namespace/name`) whose objects may have to be written or deleted. */
  let changed = new Set<string>();
  /** Those whose objects could not be written or deleted. */
  let failed = new Set<string>();
  /** Those whose Service waits for the nodes to which it will lead. */
  const moving = new Set<string>();
  const limited = createConcurrencyLimiter(PARALLEL_WRITES);
  let running: Promise<void> | undefined;
  let closed = false;
  const objects = createAppliedObjects({ ...options, present, isClosed: () => closed });

  derive.changes.subscribe(({ resources }) => {
    for (const { kind, key } of resources) {
      if (kind === "Gateway") changed.add(key);
      else if (kind === "CoreService") serviceChanged(key);
    }
    schedule();
  });
  deployments?.changes.subscribe((gateway) => {
    if (gateway === null) for (const [key, one] of derive.gateway.gateways) if (isDedicated(one)) changed.add(key);
    if (gateway !== null) changed.add(gateway);
    schedule();
  });
  publish.progress.subscribe(() => {
    for (const key of moving) changed.add(key);
    schedule();
  });
  gate.terms.subscribe(() => {
    // Another operator may have written since this one last led.
    objects.forgetAll();
    markAll();
    schedule();
  });
  const retry = setInterval(() => {
    changed = changed.union(failed);
    failed = new Set();
    schedule();
  }, RETRY_INTERVAL).unref();

  /** The end of a Service is reported as a change of its Gateway. */
  function serviceChanged(key: string): void {
    const service = clusterState.CoreService.get(key);
    const gateway = service && gatewayOfObject(service, settings.class);
    if (key === nodesKey) markAll();
    else if (gateway !== undefined && service?.metadata.namespace === nodeService.namespace) changed.add(gateway);
  }

  function markAll(): void {
    const { services, pushServices } = network;
    changed = new Set([...derive.gateway.gateways.keys(), ...services.keys(), ...pushServices.keys()]);
  }

  function schedule(): void {
    if (changed.size === 0) return;
    running ??= writeAll().finally(() => {
      running = undefined;
    });
  }

  const leads = () => !closed && gate.term() !== null;

  async function writeAll(): Promise<void> {
    // Later changes of the same turn of the event loop are written with this one.
    await Promise.resolve();
    while (changed.size > 0 && leads() && unsynced().length === 0) {
      const nodes = clusterState.CoreService.get(nodesKey);
      if (!nodes) return;
      const keys = changed;
      changed = new Set();
      await Promise.all(
        [...keys].map((key) =>
          limited(async () => {
            if (!leads() || !(await writeGateway(key, nodes))) failed.add(key);
          }),
        ),
      );
    }
  }

  /** The object as it was last read; undefined: it does not exist, or objects of its kind are not read. */
  function present({ kind, metadata: { namespace, name } }: Resource): Resource | undefined {
    if (kind === "Service") return clusterState.CoreService.get(namespacedName(namespace, name));
    return kind === "Deployment" ? deployments?.get(name) : undefined;
  }

  /** Writes or deletes the objects of a Gateway, if necessary. Resolves to false when a write has failed. */
  async function writeGateway(key: string, nodes: Resource): Promise<boolean> {
    const derived = derive.gateway.gateways.get(key);
    if (!derived) return removeAll(key);
    const { parameters } = derived;
    // Its objects stay as they are: a wrong edit must not remove nodes.
    if (!parameters) return true;
    const isComplete = !isDedicated(derived) || (await writeFleet(key, { derived, parameters, nodes }));
    return (await writeService(key, derived, nodes)) && isComplete && (isDedicated(derived) || removeUnusedFleet(key));
  }

  async function writeFleet(key: string, { derived, parameters, nodes }: FleetToWrite): Promise<boolean> {
    const { gateway } = derived;
    if (!deployments?.isSynced()) return false;
    const name = gatewayObjectName(gateway, settings.class);
    const template = deployments.template();
    if (!template) {
      const missing = refKey({ kind: "Deployment", namespace: nodeService.namespace, name });
      return objects.fail(key, missing, `the Deployment of ${operatorSettings.nodeDeployment.variable} does not exist`);
    }
    const deployment = deployments.get(name);
    const options = { className: settings.class, nodes, template, present: deployment };
    let isComplete = true;
    if (deployment && isAutoscaled(deployment) && !parameters.autoscaling)
      isComplete = await objects.remove(key, at(deployment.metadata), "HorizontalPodAutoscaler");
    for (const object of fleetObjects(gateway, parameters, options))
      if (!(await objects.apply(key, object))) isComplete = false;
    return isComplete;
  }

  async function writeService(key: string, derived: DerivedGateway, nodes: Resource): Promise<boolean> {
    const own = gatewayObjectName(derived.gateway, settings.class);
    const wanted = isDedicated(derived) ? own : SHARED_FLEET;
    const present = network.fleetOf(key) ?? wanted;
    if (present === wanted) readiness.forget(key);
    const isReady = present === wanted || isServedBy(derived, wanted);
    if (isReady) moving.delete(key);
    else moving.add(key);
    const selector = (isReady ? wanted : present) === SHARED_FLEET ? undefined : fleetSelector(own);
    const service = gatewayService(derived, { settings, nodes, ...(selector && { selector }) });
    return !service || objects.apply(key, service);
  }

  function isServedBy(derived: DerivedGateway, fleet: string): boolean {
    if (!readiness.isServedBy(derived, fleet)) return false;
    const deployment = deployments?.get(fleet);
    return fleet === SHARED_FLEET || (deployment !== undefined && isAvailable(deployment));
  }

  /** Removes the nodes of a Gateway that has moved to the shared nodes. */
  function removeUnusedFleet(key: string): Promise<boolean> | boolean {
    const isUsed = network.isLeavingFleet(key) || ![SHARED_FLEET, undefined].includes(network.fleetOf(key));
    return isUsed || removeFleet(key);
  }

  async function removeAll(key: string): Promise<boolean> {
    const service = network.services.get(key);
    moving.delete(key);
    readiness.forget(key);
    if (!service && !network.pushServices.has(key)) return true;
    const [namespace = "", name = ""] = key.split("/");
    // A Gateway that exists, although this operator does not see it, keeps its objects, and with them its address.
    try {
      const isKnown = clusterState.Gateway.has(key);
      if (!isKnown && (await client.get({ kind: "Gateway", namespace, name })) !== null) return true;
    } catch (error) {
      return objects.fail(key, `Gateway/${key}`, (error as Error).message);
    }
    return (!service || (await objects.remove(key, service.metadata, "CoreService"))) && removeFleet(key);
  }

  /** The headless Service is the last object: as long as it exists, there may be others. */
  async function removeFleet(key: string): Promise<boolean> {
    const pushService = network.pushServices.get(key);
    if (!pushService) return true;
    const { namespace, labels } = pushService.metadata;
    const fleet = { namespace, name: labels?.[FLEET_LABEL] ?? "" };
    const kinds = ["HorizontalPodAutoscaler", "PodDisruptionBudget", "Deployment", "ServiceAccount"] as const;
    for (const kind of kinds) if (!(await objects.remove(key, fleet, kind))) return false;
    return objects.remove(key, pushService.metadata, "CoreService");
  }

  return {
    /** Resolves when no write is under way. */
    async close() {
      closed = true;
      clearInterval(retry);
      await running;
    },
  };
}

/** The place of an object whose uid is not known. */
const at = ({ namespace, name }: Metadata): Pick<Metadata, "namespace" | "name"> => ({ namespace, name });

const isDedicated = (derived: DerivedGateway): boolean => derived.parameters?.nodes === "Dedicated";
