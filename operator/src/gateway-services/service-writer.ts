/** Creates the Services of Gateways, keeps them up to date, and deletes those whose Gateway is gone. */
import { isDeepStrictEqual } from "node:util";
import { namespacedName, type Resource, type ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { NodeService } from "../publish/node-discovery.ts";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import { type GatewayServiceOptions, gatewayOf, gatewayService, isUpToDate } from "./gateway-service.ts";
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
const PARALLEL_WRITES = 4;

export function createServiceWriter(options: ServiceWriterOptions) {
  const { derive, unsynced, network, gate, client, manager, settings, nodeService, log } = options;
  const { clusterState } = derive;
  const nodesKey = namespacedName(nodeService.namespace, nodeService.name);
  /** The last applied version of each Service, by Gateway: labels that are no longer wanted show up only there. */
  const applied = new Map<string, Resource>();
  /** The Gateways (`namespace/name`) whose Services may have to be written or deleted. */
  let changed = new Set<string>();
  /** Those whose Services could not be written or deleted. */
  let failed = new Set<string>();
  const limited = createConcurrencyLimiter(PARALLEL_WRITES);
  let running: Promise<void> | undefined;
  let closed = false;

  derive.changes.subscribe(({ resources }) => {
    for (const { kind, key } of resources) {
      if (kind === "Gateway") changed.add(key);
      else if (kind === "CoreService") serviceChanged(key);
    }
    schedule();
  });
  gate.terms.subscribe(() => {
    // Another operator may have written since this one last led.
    applied.clear();
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
    const gateway = service && gatewayOf(service, settings.class);
    if (key === nodesKey) markAll();
    else if (gateway !== undefined && network.services.get(gateway) === service) changed.add(gateway);
  }

  function markAll(): void {
    changed = new Set([...derive.gateway.gateways.keys(), ...network.services.keys()]);
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
            if (!leads() || !(await writeService(key, nodes))) failed.add(key);
          }),
        ),
      );
    }
  }

  /** Applies or deletes the Service of a Gateway, if necessary. Resolves to false when the write has failed. */
  async function writeService(key: string, nodes: Resource): Promise<boolean> {
    const derived = derive.gateway.gateways.get(key);
    const present = network.services.get(key);
    if (!derived) return !present || removeService(key, present);
    const wanted = gatewayService(derived, { settings, nodes });
    if (!wanted || (present && isUpToDate(present, wanted) && isDeepStrictEqual(applied.get(key), wanted))) return true;
    return attempt(wanted, async () => {
      await client.apply("CoreService", wanted, { manager, force: true });
      applied.set(key, wanted);
    });
  }

  async function removeService(key: string, service: Resource): Promise<boolean> {
    return attempt(service, async () => {
      const [namespace = "", name = ""] = key.split("/");
      // A Gateway that this operator only cannot read keeps its Service, and with it its address.
      const isKnown = clusterState.Gateway.has(key);
      if (!isKnown && (await client.get({ kind: "Gateway", namespace, name })) !== null) return;
      const { metadata } = service;
      const ref = { kind: "CoreService", namespace: metadata.namespace, name: metadata.name } as const;
      await client.remove(ref, metadata.uid === undefined ? {} : { uid: metadata.uid });
      applied.delete(key);
    });
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
