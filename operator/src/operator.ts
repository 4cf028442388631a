/** Puts the operator together: cache -> translate -> publish -> status, and the listener. */
import type { AddressInfo } from "node:net";
import {
  createResourceCache,
  followClasses,
  isOurs,
  type OwnStore,
  type Resource,
  type ResourceClient,
} from "@sluice/crds";
import { CREDENTIAL_LABEL, resourceKinds } from "@sluice/model";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { createDurable } from "./durable/durable.ts";
import { type Acknowledged, createKeeper } from "./durable/keeper.ts";
import { createLastValid } from "./durable/last-valid.ts";
import { createTakeover } from "./durable/takeover.ts";
import { type Lead, leadAlone, type StartLead } from "./lead/lead.ts";
import { createOperatorMetrics, type OperatorGauges } from "./metrics.ts";
import { type PrivateSecrets, privateSecretsOf } from "./private-secrets.ts";
import { createNodeSlices, type NodeService } from "./publish/discover.ts";
import { nodeConnector } from "./publish/node-client.ts";
import type { Proof } from "./publish/proof.ts";
import { createPublisher } from "./publish/publisher.ts";
import { createBatches } from "./reconcile/batches.ts";
import { nothing } from "./reconcile/nothing.ts";
import { createReconciler } from "./reconcile/reconciler.ts";
import { createServer } from "./server.ts";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { ownName, readsAll, SettingsError } from "./start.ts";
import { createTeller } from "./status/teller.ts";
import { createUnserved } from "./status/unserved.ts";
import { createStatusWriter, PARALLEL } from "./status/writer.ts";
import { placeOf } from "./translate/translation.ts";
import { createTranslator } from "./translate/translator.ts";
import { createWaitingRoom } from "./wait/waiting-room.ts";
import { selectorOf } from "./world/selection.ts";
import { watchedKinds } from "./world/world.ts";

export const MANAGER = "sluice-operator";

export interface OperatorOptions {
  readonly settings: OperatorSettings;
  readonly client: ResourceClient;
  readonly proof: Proof;
  /** Who leads when there are several operators. Default: this one. */
  readonly startLead?: StartLead;
  /** Where the operator's own Secrets lie. Default: as the settings say. */
  readonly privateSecrets?: PrivateSecrets;
  /** Where what was acknowledged is kept; closed with the operator. Absent: nowhere. */
  readonly store?: OwnStore;
  /** Where metrics go, beside those that are there. Default: a registry of its own. */
  readonly registry?: Registry;
  readonly log: Logger;
}

export interface Operator {
  readonly address: { readonly host: string; readonly port: number };
  /** Whether the resource is of the operator's class. */
  isOwn(resource: Resource): boolean;
  /** Stops watching, pushing and answering; what the nodes have stays. Calls after the first wait for the same end. */
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
  const { settings, client, proof, startLead = leadAlone, registry, store, log } = options;
  const { privateSecrets = privateSecretsOf(settings) } = options;
  const nodeService = nodeServiceOf(settings);
  const namespaceSelector = selectorOf(settings);
  const abort = new AbortController();
  const connector = nodeConnector(proof.credentials);
  const scheme = proof.credentials.tls === undefined ? "http" : "https";

  const publisher = createPublisher({
    connect: connector.connect,
    term: () => takeover.term(),
    onOutranked: (term) => lead?.outranked(term),
    onChange: () => {
      seen ??= setImmediate(look);
    },
    onPush: (outcome, seconds) => metrics.pushed(outcome, seconds),
  });
  const gauges: OperatorGauges = {
    revision: publisher.revision,
    resources: () => Object.fromEntries(watchedKinds.map((kind) => [kind, cache.resources[kind].size])),
    problems: () => reconciler.problemCount(),
    work: {
      waiting: { document: () => reconciler.waiting(), status: () => writer.waiting() + reconciler.statusesWaiting() },
      workers: { document: 1, status: PARALLEL },
    },
    lease: ownName(settings),
    term: () => lead?.term() ?? null,
    keptAt: () => durable?.keptAt() ?? null,
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
    onRetry: (keys) => reconciler.lookAgain(keys),
    onRoom: () => reconciler.roomForStatuses(),
    onWrite: metrics.wroteStatus,
    work: metrics.work.status,
  });

  const teller = createTeller({ client, reporter: MANAGER, log });

  /** The nodes as the cluster knows them, when they are not a fixed list. Many changes in one turn are one look. */
  const nodeSlices = nodeService && createNodeSlices(nodeService);
  let finding: NodeJS.Immediate | undefined;
  function findNodes(): void {
    finding = undefined;
    if (nodeSlices) publisher.setNodes(nodeSlices.nodes(scheme));
  }

  /** Statuses that came back, and what nodes told. Many in one turn are one look. */
  let seen: NodeJS.Immediate | undefined;
  function look(): void {
    seen = undefined;
    reconciler.look();
  }

  const lastValid = createLastValid();
  const keeper = store && createKeeper({ store, log });
  const durable =
    keeper &&
    createDurable({
      keeper,
      interval: settings.documentInterval,
      hash: () => (takeover.term() ? publisher.hash() : null),
      version: lastValid.version,
      acknowledged,
      onRead,
      log,
    });
  const takeover = createTakeover({
    lead: () => lead?.term() ?? null,
    isRead: () => durable?.isRead() ?? true,
    onTerm(term) {
      if (closed) return;
      publisher.lead();
      if (term === null) writer.drop();
      else reconciler.lead();
    },
  });

  function onRead(kept: ReadonlyMap<string, Resource> | null): void {
    const restored = lastValid.restore(kept ?? new Map(), (key) => {
      const { kind, name } = placeOf(key);
      return isOurs(kind) ? cache.resources[kind].get(name) : undefined;
    });
    for (const { kind, name } of [...restored].map(placeOf)) if (isOurs(kind)) reconciler.note(kind, name, true);
    takeover.read(restored.size > 0);
    reconciler.touch();
  }

  function unread(): readonly string[] {
    const kinds = [...cache.unsynced(), ...(classes.isSynced() ? [] : ["Lease"])];
    return durable && !durable.isRead() ? [...kinds, "what was kept"] : kinds;
  }

  function acknowledged(): Acknowledged | null {
    const [term, revision, hash] = [takeover.term(), publisher.revision(), publisher.hash()];
    if (term === null || hash === null || !reconciler.upToDate()) return null;
    if (!publisher.acknowledgement(revision).programmed) return null;
    return { term, revision, hash, resources: lastValid.all() };
  }

  /** The highest term that is known from what was kept; 0 when that cannot be read. */
  async function floor(): Promise<number> {
    try {
      return (await keeper?.term()) ?? 0;
    } catch (error) {
      log.warn({ reason: (error as Error).message }, "cannot read the term of what was kept");
      return 0;
    }
  }

  const classOf = (resource: Resource) => classes.of(resource);
  const batches = createBatches({ class: settings.class, classOf });
  const cache = createResourceCache({
    client,
    kinds: watchedKinds,
    namespaces: settings.namespaces,
    namespaceSelector,
    // Most clusters have no Gateway API: without it nothing may refer to another namespace.
    optional: ["ReferenceGrant"],
    secretLabel: CREDENTIAL_LABEL,
    // It writes statuses alone, and reads before it does who owns them.
    bookkeeping: false,
    signal: abort.signal,
    log,
    onVersion: batches.note,
    onResource: (kind, key, meaningful) => {
      if (kind === "EndpointSlice" && nodeSlices?.set(key, cache.resources.EndpointSlice.get(key)))
        finding ??= setImmediate(findNodes);
      lastValid.refresh(`${kind}/${key}`, cache.resources[kind].get(key));
      reconciler.note(kind, key, meaningful);
      unserved.note(kind, key);
    },
    onChange: (meaningful) => {
      if (meaningful) reconciler.touch();
      else seen ??= setImmediate(look);
    },
  });
  const classes = followClasses({
    client,
    own: { class: settings.class, namespace: settings.homeNamespace },
    namespaces: settings.namespaces,
    signal: abort.signal,
    log,
    onChange(moved) {
      const places = new Set(moved);
      for (const kind of resourceKinds)
        for (const [key, { metadata }] of cache.resources[kind])
          if (places.has(metadata.namespace)) reconciler.note(kind, key, true);
      reconciler.touch();
      unserved.lookAtAll();
    },
  });
  const unserved = createUnserved({
    client,
    manager: MANAGER,
    tell: teller.tell,
    world: cache.resources,
    classes,
    // Of several one says it: the first class whose operator reads all namespaces.
    speaks: () => leads() && readsAll(settings) && (classes.first() ?? settings.class) === settings.class,
    log,
  });
  const reconciler = createReconciler({
    cache,
    batches,
    translator: createTranslator({ homeNamespace: settings.homeNamespace, class: settings.class, classOf, lastValid }),
    unread,
    empty: nothing,
    publisher,
    writer,
    teller,
    leads: () => takeover.term() !== null,
    log,
    onReconcile(seconds) {
      metrics.reconciled(seconds);
      takeover.published();
    },
    work: {
      ...metrics.work.document,
      began(waited) {
        metrics.work.document.began(waited);
        takeover.began();
      },
      ended(seconds, result) {
        metrics.work.document.ended(seconds, result);
        if (result === "error") takeover.failed();
      },
    },
    onProgress() {
      waitingRoom.look();
      // Not only when a node tells news: one may have had the document before it was published here.
      durable?.look();
    },
  });
  const waitingRoom = createWaitingRoom({
    world: cache.resources,
    upToDate: reconciler.upToDate,
    revision: publisher.revision,
    acknowledgement: publisher.acknowledgement,
    problemsOf: reconciler.problemsOf,
  });
  const server = createServer({
    publisher,
    waitingRoom,
    registry: metrics.registry,
    unsynced: unread,
    lead: { term: () => lead?.term() ?? null, leader: () => lead?.leader() ?? null },
  });

  /** Undefined until the listener is there: a process that cannot start leads nobody. */
  let lead: Lead | undefined;
  let closed = false;
  let keeping: Promise<void> | undefined;
  // From here on its loops ask for the term.
  publisher.setNodes(settings.nodes.map((address) => address.replace(/\/+$/, "")));

  function onTerm(term: number | null): void {
    if (closed) return;
    durable?.lead(term !== null);
    takeover.lead(term);
    unserved.lookAtAll();
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
    clearImmediate(finding);
    clearImmediate(seen);
    reconciler.close();
    teller.close();
    unserved.close();
    waitingRoom.close();
    try {
      await server.close();
      await Promise.all([durable?.close(), publisher.close(), writer.close()]);
    } finally {
      // Last: whoever leads next must not meet our own pushes and writes.
      await lead?.close();
    }
    await store?.close();
    await keeping;
    await connector.close();
  }

  try {
    await server.listen({ host: settings.listen.host, port: settings.listen.port });
  } catch (error) {
    await close();
    throw error;
  }
  lead = startLead({ floor, onTerm, onReached: () => client.rewatch() });
  keeping = proof.keep?.({
    client: privateSecrets.reading(client),
    privateNamespace: privateSecrets.namespace,
    manager: MANAGER,
    // A new authority must not be made while the one of before lies where it was.
    leads: () => leads() && privateSecrets.isMoved(),
    renew: connector.renew,
    tell: teller.tell,
    log,
    signal: abort.signal,
  });
  const { address, port } = server.server.address() as AddressInfo;
  return { address: { host: address, port }, isOwn: (resource) => classOf(resource) === settings.class, close };
}
