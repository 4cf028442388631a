/** Puts the operator together: cache -> translate -> publish -> status, and the listener. */
import type { AddressInfo } from "node:net";
import { createResourceCache, type ResourceClient } from "@sluice/crds";
import { CREDENTIAL_LABEL } from "@sluice/model";
import type { Logger } from "pino";
import { createOperatorMetrics } from "./metrics.ts";
import { nodesBehind } from "./publish/discover.ts";
import { type NodeCredentials, nodeConnector } from "./publish/node-client.ts";
import { createPublisher } from "./publish/publisher.ts";
import { nothing } from "./reconcile/nothing.ts";
import { createReconciler } from "./reconcile/reconciler.ts";
import { createServer } from "./server.ts";
import type { OperatorSettings } from "./settings.ts";
import { SettingsError } from "./start.ts";
import { createStatusWriter } from "./status/writer.ts";
import { createTranslator } from "./translate/translator.ts";
import { createWaitingRoom } from "./wait/waiting-room.ts";
import { watchedKinds } from "./world/world.ts";

export const MANAGER = "sluice-operator";

export interface OperatorOptions {
  readonly settings: OperatorSettings;
  readonly client: ResourceClient;
  readonly credentials: NodeCredentials;
  readonly log: Logger;
}

export interface Operator {
  readonly address: { readonly host: string; readonly port: number };
  /** Stops watching, pushing and answering; what the nodes have stays. */
  close(): Promise<void>;
}

function nodeServiceOf(text: string | null): { namespace: string; name: string; port: string } | null {
  if (text === null) return null;
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new SettingsError(`SLUICE_NODE_SERVICE: expected namespace/name, not '${text}'`);
  return { namespace, name, port: "push" };
}

export async function startOperator({ settings, client, credentials, log }: OperatorOptions): Promise<Operator> {
  const nodeService = nodeServiceOf(settings.nodeService);
  const abort = new AbortController();
  const connector = nodeConnector(credentials);
  const scheme = credentials.tls ? "https" : "http";

  const publisher = createPublisher({
    connect: connector.connect,
    onChange: () => reconciler.look(),
    onPush: (outcome, seconds) => metrics.pushed(outcome, seconds),
  });
  const metrics = createOperatorMetrics({
    revision: publisher.revision,
    resources: () => Object.fromEntries(watchedKinds.map((kind) => [kind, cache.resources[kind].size])),
    problems: () => reconciler.problemCount(),
    nodes: () => {
      const { acknowledged, lagging, silent } = publisher.acknowledgement(publisher.revision());
      return { current: acknowledged.length, lagging: lagging.length, silent: silent.length };
    },
  });
  const writer = createStatusWriter({
    client,
    manager: MANAGER,
    log,
    onRetry: () => reconciler.look(),
    onWrite: metrics.wroteStatus,
  });

  /** The nodes as the cluster knows them, when they are not a fixed list. */
  function findNodes(): void {
    if (!nodeService) return;
    const found = nodesBehind(nodeService, cache.resources.EndpointSlice.values(), scheme);
    const known = publisher.nodes().map(({ address }) => address);
    if (found.join() !== known.toSorted().join()) publisher.setNodes(found);
  }

  const cache = createResourceCache({
    client,
    kinds: watchedKinds,
    namespaces: settings.namespaces,
    secretLabel: CREDENTIAL_LABEL,
    signal: abort.signal,
    log,
    onChange: (meaningful) => {
      if (!meaningful) return;
      findNodes();
      reconciler.touch();
    },
  });
  const reconciler = createReconciler({
    cache,
    client,
    translate: createTranslator({ homeNamespace: settings.homeNamespace, class: settings.class }),
    empty: nothing,
    publisher,
    writer,
    log,
    onReconcile: metrics.reconciled,
    onProgress: () => waitingRoom.look(),
  });
  const waitingRoom = createWaitingRoom({
    world: cache.resources,
    upToDate: reconciler.upToDate,
    revision: publisher.revision,
    acknowledgement: publisher.acknowledgement,
    problemsOf: reconciler.problemsOf,
  });
  const server = createServer({ publisher, waitingRoom, registry: metrics.registry, unsynced: cache.unsynced });
  publisher.setNodes(settings.nodes.map((address) => address.replace(/\/+$/, "")));

  async function close(): Promise<void> {
    abort.abort();
    reconciler.close();
    waitingRoom.close();
    await server.close();
    await publisher.close();
    await writer.close();
    await connector.close();
  }

  try {
    await server.listen({ host: settings.listen.host, port: settings.listen.port });
  } catch (error) {
    await close();
    throw error;
  }
  const { address, port } = server.server.address() as AddressInfo;
  return { address: { host: address, port }, close };
}
