/** Creates the Services of Gateways, keeps them up to date, and deletes those whose Gateway is gone. */
import { isDeepStrictEqual } from "node:util";
import { namespacedName, type Resource, type ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { NodeService } from "../publish/node-discovery.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import { type GatewayServiceOptions, gatewayService, isUpToDate } from "./gateway-service.ts";
import type { ServiceNetwork } from "./service-network.ts";

export interface ServiceWriterOptions {
  readonly derive: Pick<DeriveStage, "clusterState" | "changes" | "gateway">;
  /** Kinds that were not read yet. */
  readonly unsynced: () => readonly string[];
  readonly network: Pick<ServiceNetwork, "services">;
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly client: Pick<ResourceClient, "apply" | "get" | "remove">;
  readonly manager: string;
  readonly settings: GatewayServiceOptions["settings"];
  readonly nodeService: NodeService;
  readonly log: Pick<Logger, "warn">;
}

/** Milliseconds between repetitions of failed writes. */
const RETRY_INTERVAL = 5000;

export function createServiceWriter(options: ServiceWriterOptions) {
  const { derive, unsynced, network, gate, client, manager, settings, nodeService, log } = options;
  const { clusterState } = derive;
  /** The last applied version of each Service, by Gateway: labels that are no longer wanted show up only there. */
  const applied = new Map<string, Resource>();
  let running: Promise<void> | undefined;
  let isDirty = false;
  let closed = false;

  derive.changes.subscribe(({ resources }) => {
    if (resources.some(({ kind }) => kind === "Gateway" || kind === "CoreService")) schedule();
  });
  gate.terms.subscribe((term) => {
    // Another operator may have written since this one last led.
    applied.clear();
    if (term !== null) schedule();
  });
  const retry = setInterval(() => isDirty && schedule(), RETRY_INTERVAL).unref();

  function schedule(): void {
    isDirty = true;
    running ??= writeAll().finally(() => {
      running = undefined;
    });
  }

  const leads = () => !closed && gate.term() !== null;

  async function writeAll(): Promise<void> {
    // Later changes of the same turn of the event loop are written with this one.
    await Promise.resolve();
    while (isDirty && leads() && unsynced().length === 0) {
      isDirty = false;
      const nodes = clusterState.CoreService.get(namespacedName(nodeService.namespace, nodeService.name));
      const isComplete = nodes !== undefined && (await applyAll(nodes)) && (await removeOthers());
      if (isComplete) continue;
      isDirty = true;
      return;
    }
  }

  /** Resolves to false when a write has failed. */
  async function applyAll(nodes: Resource): Promise<boolean> {
    let isComplete = true;
    for (const [key, derived] of derive.gateway.gateways) {
      const wanted = gatewayService(derived, { settings, nodes });
      const present = network.services.get(key);
      if (!wanted || !leads()) continue;
      if (present && isUpToDate(present, wanted) && isDeepStrictEqual(applied.get(key), wanted)) continue;
      const isWritten = await attempt(wanted, async () => {
        await client.apply("CoreService", wanted, { manager, force: true });
        applied.set(key, wanted);
      });
      if (!isWritten) isComplete = false;
    }
    return isComplete;
  }

  /** Resolves to false when a Service could not be deleted. */
  async function removeOthers(): Promise<boolean> {
    let isComplete = true;
    for (const [key, service] of [...network.services]) {
      if (derive.gateway.gateways.has(key) || !leads()) continue;
      const isRemoved = await attempt(service, async () => {
        const [namespace = "", name = ""] = key.split("/");
        // A Gateway that this operator only cannot read keeps its Service, and with it its address.
        const isKnown = clusterState.Gateway.has(key);
        if (!isKnown && (await client.get({ kind: "Gateway", namespace, name })) !== null) return;
        const { metadata } = service;
        const ref = { kind: "CoreService", namespace: metadata.namespace, name: metadata.name } as const;
        await client.remove(ref, metadata.uid === undefined ? {} : { uid: metadata.uid });
        applied.delete(key);
      });
      if (!isRemoved) isComplete = false;
    }
    return isComplete;
  }

  async function attempt({ metadata }: Resource, write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      const resource = `Service/${metadata.namespace}/${metadata.name}`;
      if (!closed) log.warn({ resource, reason: (error as Error).message }, "cannot write the Service of a Gateway");
      return false;
    }
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
