/** Follows the Deployments of the nodes of single Gateways, and the Deployment of the release, of which they are copies. */
import { createResourceCache, namespacedName, type Resource, type ResourceClient } from "@sluice/crds";
import { SettingsError } from "@sluice/model";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { NodeService } from "../publish/node-discovery.ts";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { createNamedObjects } from "../watch/named-objects.ts";
import { FLEET_LABEL, GATEWAY_CLASS_LABEL, gatewayOfObject } from "./object-names.ts";

export interface FleetDeploymentsOptions {
  readonly client: Pick<ResourceClient, "watch">;
  readonly settings: Pick<OperatorSettings, "class">;
  /** The Deployment of the release's nodes. */
  readonly template: NodeService;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
}

export interface FleetDeployments {
  /** Emits the Gateway (`namespace/name`) of a changed Deployment; null: that of the release has changed. */
  readonly changes: Output<string | null>;
  /** The Deployment of the release's nodes; undefined: it does not exist. */
  template(): Resource | undefined;
  /** The Deployment of the fleet of this name; undefined: there is none. */
  get(fleet: string): Resource | undefined;
  /** Whether all Deployments were read. */
  isSynced(): boolean;
}

/**
 * The Deployment that the settings name; null: the operator creates no nodes.
 *
 * @throws SettingsError
 */
export function nodeDeploymentOf(
  { nodeDeployment }: Pick<OperatorSettings, "nodeDeployment">,
  nodeService: NodeService | null,
): NodeService | null {
  if (nodeDeployment === null) return null;
  const { variable } = operatorSettings.nodeDeployment;
  const [namespace, name, ...rest] = nodeDeployment.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new SettingsError(`${variable}: expected namespace/name, not '${nodeDeployment}'`);
  if (nodeService?.namespace !== namespace)
    throw new SettingsError(
      `${variable}: ${operatorSettings.nodeService.variable} must name the Service of these nodes, in the namespace ${namespace}`,
    );
  return { namespace, name };
}

export function createFleetDeployments(options: FleetDeploymentsOptions): FleetDeployments {
  const { client, settings, template, signal, log } = options;
  const changes = createEmitter<string | null>();
  /** The Deployments as they were last read, because a deleted one cannot be asked for its Gateway. */
  const known = new Map<string, Resource>();
  let isRead = false;
  const cache = createResourceCache({
    client,
    kinds: ["Deployment"],
    namespaces: [template.namespace],
    labels: `${GATEWAY_CLASS_LABEL}=${settings.class},${FLEET_LABEL}`,
    bookkeeping: false,
    signal,
    log,
    onChange() {
      if (isRead || cache.unsynced().length > 0) return;
      isRead = true;
      changes.emit(null);
    },
    onResource(_, key) {
      const found = cache.resources.Deployment.get(key);
      const deployment = found ?? known.get(key);
      if (found) known.set(key, found);
      else known.delete(key);
      const gateway = deployment && gatewayOfObject(deployment, settings.class);
      if (gateway !== undefined) changes.emit(gateway);
    },
  });
  const ref = { kind: "Deployment", ...template } as const;
  let version: string | undefined;
  const named = createNamedObjects({
    client,
    signal,
    log,
    onChange() {
      const { uid, generation } = readTemplate()?.metadata ?? {};
      const before = version;
      version = `${uid} ${generation}`;
      // Otherwise only the status has changed.
      if (version !== before) changes.emit(null);
    },
  });
  const readTemplate = () => named.read(USER, ref);
  readTemplate();
  return {
    changes,
    template: readTemplate,
    get: (fleet) => cache.resources.Deployment.get(namespacedName(template.namespace, fleet)),
    isSynced: () => cache.unsynced().length === 0 && named.isSettled(ref),
  };
}

/** The only user of the followed object. */
const USER = "fleets";
