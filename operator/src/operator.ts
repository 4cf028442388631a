/** Assembles the operator: cache -> translate -> publish -> status, and the listener. */
import type { AddressInfo } from "node:net";
import {
  createResourceCache,
  isSluiceKind,
  type Resource,
  type ResourceClient,
  type StateBackend,
  trackClasses,
} from "@sluice/crds";
import { CREDENTIAL_LABEL, resourceKinds } from "@sluice/model";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { createBatches } from "./document/batches.ts";
import { emptyBuild } from "./document/build-snapshot.ts";
import { createReconciler } from "./document/reconciler.ts";
import { type LeaderElection, type StartLeaderElection, soleLeader } from "./leader-election/leader-election.ts";
import { createOperatorMetrics, type OperatorGauges } from "./metrics.ts";
import { type PrivateSecrets, privateSecretsOf } from "./private-secrets.ts";
import { createNodeConnector } from "./publish/node-client.ts";
import { createNodeDiscovery, type NodeService } from "./publish/node-discovery.ts";
import { createPublisher } from "./publish/publisher.ts";
import type { PushCredentials } from "./publish/push-credentials.ts";
import { createLastValidVersions } from "./saved-state/last-valid-versions.ts";
import { createPublishGate } from "./saved-state/publish-gate.ts";
import { createStateSaver } from "./saved-state/state-saver.ts";
import { type AcknowledgedState, createStateStore } from "./saved-state/state-store.ts";
import { createServer } from "./server.ts";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { ownObjectName, readsAllNamespaces, SettingsError } from "./start-checks.ts";
import { createEventRecorder } from "./status/event-recorder.ts";
import { createProgrammedWaiters } from "./status/programmed-waiters.ts";
import { createStatusWriter, PARALLEL_STATUS_WRITES } from "./status/status-writer.ts";
import { createUnservedClasses } from "./status/unserved-classes.ts";
import { parseOwnerKey } from "./translate/translation.ts";
import { createTranslator } from "./translate/translator.ts";
import { watchedKinds } from "./watch/cluster-state.ts";
import { namespaceSelectorOf } from "./watch/namespace-selector.ts";

export const MANAGER = "sluice-operator";

export interface OperatorOptions {
  readonly settings: OperatorSettings;
  readonly client: ResourceClient;
  readonly pushCredentials: PushCredentials;
  /** Leader election among several operators. Default: this operator always leads. */
  readonly startElection?: StartLeaderElection;
  /** Where the operator's own Secrets are. Default: according to the settings. */
  readonly privateSecrets?: PrivateSecrets;
  /** Store for acknowledged state, closed with the operator. Absent: nothing is saved. */
  readonly store?: StateBackend;
  /** Registry to which metrics are added. Default: a new one. */
  readonly registry?: Registry;
  readonly log: Logger;
}

export interface Operator {
  readonly address: { readonly host: string; readonly port: number };
  /** Whether the resource is of the operator's class. */
  isOwn(resource: Resource): boolean;
  /** Stops watching, pushing and answering; the nodes keep their documents. Repeated calls wait for the same end. */
  close(): Promise<void>;
}

function nodeServiceOf({ nodeService, namespaces }: OperatorSettings): NodeService | null {
  if (nodeService === null) return null;
  const { variable } = operatorSettings.nodeService;
  const [namespace, name, ...rest] = nodeService.split("/");
  if (!namespace || !name || rest.length > 0)
    throw new SettingsError(`${variable}: expected namespace/name, not '${nodeService}'`);
  if (namespaces.length > 0 && !namespaces.includes(namespace))
    throw new SettingsError(
      `${variable}: ${operatorSettings.namespaces.variable} does not name ${namespace}, so its nodes cannot be found`,
    );
  return { namespace, name, port: "push" };
}

export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { settings, client, pushCredentials, startElection = soleLeader, registry, store, log } = options;
  const { privateSecrets = privateSecretsOf(settings) } = options;
  const nodeService = nodeServiceOf(settings);
  const namespaceSelector = namespaceSelectorOf(settings);
  const abort = new AbortController();
  const connector = createNodeConnector(pushCredentials.credentials);
  const scheme = pushCredentials.credentials.tls === undefined ? "http" : "https";

  const publisher = createPublisher({
    connect: connector.connect,
    term: () => publishGate.term(),
    onHigherTerm: (term) => lead?.observeTerm(term),
    onChange: () => {
      statusTurn ??= setImmediate(syncStatuses);
    },
    onPush: (outcome, seconds) => metrics.pushed(outcome, seconds),
  });
  const gauges: OperatorGauges = {
    revision: publisher.revision,
    resources: () => Object.fromEntries(watchedKinds.map((kind) => [kind, cache.resources[kind].size])),
    problems: () => reconciler.problemCount(),
    work: {
      queued: {
        document: () => reconciler.queuedCount(),
        status: () => writer.queuedCount() + reconciler.queuedStatuses(),
      },
      workers: { document: 1, status: PARALLEL_STATUS_WRITES },
    },
    lease: ownObjectName(settings),
    term: () => lead?.term() ?? null,
    savedAt: () => stateSaver?.savedAt() ?? null,
    nodes: () => {
      const { acknowledged, lagging, silent } = publisher.acknowledgement(publisher.revision());
      return { current: acknowledged.length, lagging: lagging.length, silent: silent.length };
    },
  };
  const metrics = createOperatorMetrics(gauges, registry);
  const writer = createStatusWriter({
    client,
    manager: MANAGER,
    log,
    onRetry: (keys) => reconciler.retryStatuses(keys),
    onWriteFinished: () => reconciler.continueStatuses(),
    onWrite: metrics.wroteStatus,
    work: metrics.work.status,
  });

  const events = createEventRecorder({ client, reporter: MANAGER, log });

  /** The nodes as the cluster reports them, unless they are a fixed list. Changes within one turn are merged. */
  const nodeDiscovery = nodeService && createNodeDiscovery(nodeService);
  let discoveryTurn: NodeJS.Immediate | undefined;
  function updateNodes(): void {
    discoveryTurn = undefined;
    if (nodeDiscovery) publisher.setNodes(nodeDiscovery.addresses(scheme));
  }

  /** Statuses read back, and news from nodes. Changes within one turn are merged. */
  let statusTurn: NodeJS.Immediate | undefined;
  function syncStatuses(): void {
    statusTurn = undefined;
    reconciler.syncStatuses();
  }

  const lastValid = createLastValidVersions();
  const stateStore = store && createStateStore({ store, log });
  const stateSaver =
    stateStore &&
    createStateSaver({
      store: stateStore,
      interval: settings.documentInterval,
      hash: () => (publishGate.term() ? publisher.hash() : null),
      version: lastValid.version,
      acknowledged,
      onRead,
      log,
    });
  const publishGate = createPublishGate({
    leaderTerm: () => lead?.term() ?? null,
    isRead: () => stateSaver?.isRead() ?? true,
    onTerm(term) {
      if (closed) return;
      publisher.termChanged();
      if (term === null) writer.cancelQueued();
      else reconciler.startLeading();
    },
  });

  function onRead(kept: ReadonlyMap<string, Resource> | null): void {
    const restored = lastValid.restore(kept ?? new Map(), (key) => {
      const { kind, name } = parseOwnerKey(key);
      return isSluiceKind(kind) ? cache.resources[kind].get(name) : undefined;
    });
    for (const { kind, name } of [...restored].map(parseOwnerKey))
      if (isSluiceKind(kind)) reconciler.markDirty(kind, name, true);
    publishGate.stateRestored(restored.size > 0);
    reconciler.schedule();
  }

  function unsynced(): readonly string[] {
    const kinds = [...cache.unsynced(), ...(classes.isSynced() ? [] : ["Lease"])];
    return stateSaver && !stateSaver.isRead() ? [...kinds, "what was kept"] : kinds;
  }

  function acknowledged(): AcknowledgedState | null {
    const [term, revision, hash] = [publishGate.term(), publisher.revision(), publisher.hash()];
    if (term === null || hash === null || !reconciler.upToDate()) return null;
    if (!publisher.acknowledgement(revision).programmed) return null;
    return { term, revision, hash, resources: lastValid.all() };
  }

  /** The highest term in the saved state; 0 when it cannot be read. */
  async function highestKnownTerm(): Promise<number> {
    try {
      return (await stateStore?.term()) ?? 0;
    } catch (error) {
      log.warn({ reason: (error as Error).message }, "cannot read the term of what was kept");
      return 0;
    }
  }

  const classOf = (resource: Resource) => classes.classOf(resource);
  const batches = createBatches({ class: settings.class, classOf });
  const cache = createResourceCache({
    client,
    kinds: watchedKinds,
    namespaces: settings.namespaces,
    namespaceSelector,
    // Most clusters have no Gateway API: without it, no reference to another namespace is allowed.
    optional: ["ReferenceGrant"],
    secretLabel: CREDENTIAL_LABEL,
    // The operator writes only statuses, and reads the managed fields before each write.
    bookkeeping: false,
    signal: abort.signal,
    log,
    onVersion: batches.observe,
    onResource: (kind, key, meaningful) => {
      if (kind === "EndpointSlice" && nodeDiscovery?.set(key, cache.resources.EndpointSlice.get(key)))
        discoveryTurn ??= setImmediate(updateNodes);
      lastValid.refresh(`${kind}/${key}`, cache.resources[kind].get(key));
      reconciler.markDirty(kind, key, meaningful);
      unserved.check(kind, key);
    },
    onChange: (meaningful) => {
      if (meaningful) reconciler.schedule();
      else statusTurn ??= setImmediate(syncStatuses);
    },
  });
  const classes = trackClasses({
    client,
    own: { class: settings.class, namespace: settings.homeNamespace },
    namespaces: settings.namespaces,
    signal: abort.signal,
    log,
    onChange(moved) {
      const places = new Set(moved);
      for (const kind of resourceKinds)
        for (const [key, { metadata }] of cache.resources[kind])
          if (places.has(metadata.namespace)) reconciler.markDirty(kind, key, true);
      reconciler.schedule();
      unserved.checkAll();
    },
  });
  const unserved = createUnservedClasses({
    client,
    manager: MANAGER,
    recordEvent: events.record,
    clusterState: cache.resources,
    classes,
    // One of several operators reports: that of the first class which reads all namespaces.
    isReporter: () =>
      leads() && readsAllNamespaces(settings) && (classes.firstClusterWideClass() ?? settings.class) === settings.class,
    log,
  });
  const reconciler = createReconciler({
    cache,
    batches,
    translator: createTranslator({ homeNamespace: settings.homeNamespace, class: settings.class, classOf, lastValid }),
    unsynced,
    empty: emptyBuild,
    publisher,
    writer,
    events,
    leads: () => publishGate.term() !== null,
    log,
    onReconcile(seconds) {
      metrics.reconciled(seconds);
      publishGate.translationPublished();
    },
    work: {
      ...metrics.work.document,
      started(waited) {
        metrics.work.document.started(waited);
        publishGate.translationStarted();
      },
      ended(seconds, result) {
        metrics.work.document.ended(seconds, result);
        if (result === "error") publishGate.translationFailed();
      },
    },
    onProgress() {
      waiters.resolveReady();
      // Not only on news from a node: a node may have had the document before this operator published it.
      stateSaver?.schedule();
    },
  });
  const waiters = createProgrammedWaiters({
    clusterState: cache.resources,
    upToDate: reconciler.upToDate,
    revision: publisher.revision,
    acknowledgement: publisher.acknowledgement,
    problemsOf: reconciler.problemsOf,
  });
  const server = createServer({
    publisher,
    waiters,
    registry: metrics.registry,
    unsynced,
    election: { term: () => lead?.term() ?? null, leader: () => lead?.leader() ?? null },
  });

  /** Undefined until the listener has started: a process that fails to start must not lead. */
  let lead: LeaderElection | undefined;
  let closed = false;
  let rotation: Promise<void> | undefined;
  // The publisher's loops call `term` from here on.
  publisher.setNodes(settings.nodes.map((address) => address.replace(/\/+$/, "")));

  function onTerm(term: number | null): void {
    if (closed) return;
    stateSaver?.leadershipChanged(term !== null);
    publishGate.leadershipChanged(term);
    unserved.checkAll();
    if (term !== null) void privateSecrets.move({ client, store, manager: MANAGER, leads, log, signal: abort.signal });
  }

  const leads = () => lead !== undefined && lead.term() !== null;

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closeAll();
    return closing;
  };

  async function closeAll(): Promise<void> {
    abort.abort();
    closed = true;
    clearImmediate(discoveryTurn);
    clearImmediate(statusTurn);
    reconciler.close();
    events.close();
    unserved.close();
    waiters.close();
    try {
      await server.close();
      await Promise.all([stateSaver?.close(), publisher.close(), writer.close()]);
    } finally {
      // Last: the next leader must not meet this operator's pushes and writes.
      await lead?.close();
    }
    await store?.close();
    await rotation;
    await connector.close();
  }

  try {
    await server.listen({ host: settings.listen.host, port: settings.listen.port });
  } catch (error) {
    await close();
    throw error;
  }
  lead = startElection({ highestKnownTerm, onTerm, onReconnected: () => client.rewatch() });
  rotation = pushCredentials.rotate?.({
    client: privateSecrets.reading(client),
    privateNamespace: privateSecrets.namespace,
    manager: MANAGER,
    // A new authority must not be created before the old one was moved.
    leads: () => leads() && privateSecrets.isMoved(),
    renew: connector.replaceTls,
    recordEvent: events.record,
    log,
    signal: abort.signal,
  });
  const { address, port } = server.server.address() as AddressInfo;
  return { address: { host: address, port }, isOwn: (resource) => classOf(resource) === settings.class, close };
}
