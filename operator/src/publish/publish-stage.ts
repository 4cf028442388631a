/** Fourth stage: publishes documents to the nodes while this operator leads, and saves the acknowledged state. */
import { type PluginEndpointCall, type PluginEndpointResults, pluginSetHash } from "@sluice/model";
import type { Logger } from "pino";
import type { TranslatedDocument, TranslateStage } from "../document/translate-stage.ts";
import { createEmitter, type Output } from "../emitter.ts";
import type { Leadership } from "../leader-election/leader-election.ts";
import type { OperatorGauges, OperatorMetrics } from "../metrics.ts";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import type { StateReader } from "../saved-state/state-reader.ts";
import { createStateSaver } from "../saved-state/state-saver.ts";
import type { AcknowledgedState, StateStore } from "../saved-state/state-store.ts";
import type { OperatorSettings } from "../settings.ts";
import type { WatchStage } from "../watch/watch-stage.ts";
import { askNodes, nodesToAsk } from "./ask-nodes.ts";
import type { NodeConnector } from "./node-client.ts";
import { createNodeDiscovery, type NodeService } from "./node-discovery.ts";
import { createPublisher, type Publisher } from "./publisher.ts";
import { type CountingNode, createFleetCounters } from "./views/fleet-counters.ts";
import { createFleetViews } from "./views/fleet-views.ts";

export interface PublishedDocument {
  readonly document: TranslatedDocument;
  readonly revision: number;
}

export interface PublishStage {
  /**
   * Each published document; null: no document was published, but an acknowledgement or error of a node, the list of
   * nodes, or the term has changed.
   */
  readonly progress: Output<PublishedDocument | null>;
  readonly publisher: Pick<
    Publisher,
    "revision" | "hash" | "acknowledgement" | "acknowledgedRevision" | "missingPlugins" | "failedListeners" | "nodes"
  >;
  /**
   * Calls an endpoint of a plugin on every node that is not silent; for an explanation, on those that may have the
   * answer.
   */
  askPlugin(call: PluginEndpointCall): Promise<PluginEndpointResults>;
  readonly gauges: Pick<OperatorGauges, "revision" | "savedAt" | "countersSavedAt" | "nodes">;
  /** Stops pushing, and saves the last acknowledged state. */
  close(): Promise<void>;
}

export interface PublishStageOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "changes">;
  readonly translate: Pick<TranslateStage, "documents" | "isUpToDate">;
  readonly leadership: Pick<Leadership, "terms" | "observeTerm">;
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly savedState: StateReader;
  readonly store: StateStore;
  readonly lastValid: Pick<LastValidVersions, "version" | "all">;
  readonly settings: Pick<OperatorSettings, "nodes" | "documentInterval">;
  /** Null: the nodes are those of the settings. */
  readonly nodeService: NodeService | null;
  readonly connector: Pick<NodeConnector, "connect" | "scheme" | "askPlugin" | "sendView">;
  readonly metrics: Pick<OperatorMetrics, "pushed" | "reconciled" | "savedState">;
  readonly log: Logger;
}

export function createPublishStage(options: PublishStageOptions): PublishStage {
  const { watch, translate, leadership, gate, store, lastValid, settings, connector, metrics, log } = options;
  const progress = createEmitter<PublishedDocument | null>();
  const ownPlugins = pluginSetHash();
  const publisher = createPublisher({
    connect: connector.connect,
    term: gate.term,
    onHigherTerm: leadership.observeTerm,
    onChange: () => reportProgress(null),
    onPush: metrics.pushed,
    onPeerChange: () => views.schedule(),
    onPluginSet(address, pluginSet) {
      if (pluginSet === ownPlugins) return;
      const message =
        "a node's plugins differ from the operator's in name, version or schema: give both the same SLUICE_PLUGINS";
      log.warn({ node: address }, message);
    },
  });
  const closing = new AbortController();
  /** By fleet: the addresses of nodes whose Pods terminate. Fleets without such nodes are absent. */
  const terminating = new Map<string, ReadonlySet<string>>();
  const counters = createFleetCounters({
    nodes: () => (gate.term() === null ? [] : publisher.nodes().flatMap(countingNode)),
    ask: (address, call) => connector.askPlugin({ address, signal: closing.signal }, call),
    onRefusal: (node, reason) =>
      log.warn({ node, reason }, "a node refuses the counters of policy fleet: they begin at 0 there"),
  });
  const views = createFleetViews({
    term: gate.term,
    nodes() {
      for (const fleet of publisher.fleets()) if (terminating.has(fleet)) listNodes(fleet);
      return publisher
        .nodes()
        .map((node) => ({ ...node, isTerminating: terminating.get(node.fleet)?.has(node.address) ?? false }));
    },
    send: (address, view) => connector.sendView({ address, signal: closing.signal }, view),
    restore: counters.restore,
    onRefusal: (node, reason) => log.warn({ node, reason }, "a node refuses the list of the nodes of its fleet"),
  });
  const saver = createStateSaver({
    store,
    reader: options.savedState,
    leadership,
    interval: settings.documentInterval,
    hash: () => (gate.term() ? publisher.hash() : null),
    version: lastValid.version,
    acknowledged,
    onWrite: metrics.savedState,
    log,
  });

  function acknowledged(): AcknowledgedState | null {
    const [term, revision, hash] = [gate.term(), publisher.revision(), publisher.hash()];
    if (term === null || hash === null || !translate.isUpToDate()) return null;
    if (!publisher.acknowledgement(revision).programmed) return null;
    return { term, revision, hash, resources: lastValid.all() };
  }

  function reportProgress(published: PublishedDocument | null): void {
    // A publication may need a save too: a node may have had the document before this operator published it.
    saver.schedule();
    progress.emit(published);
  }

  const discovery = options.nodeService && createNodeDiscovery(options.nodeService);
  gate.terms.subscribe(() => {
    publisher.termChanged();
    views.schedule();
  });
  translate.documents.subscribe((document) => {
    const { snapshot } = document.built;
    const last = publisher.revision();
    const revision = publisher.publish(snapshot);
    for (const fleet of discovery?.setFleets(publisher.fleets()) ?? []) updateNodes(fleet);
    reportProgress({ document, revision });
    const seconds = (performance.now() - document.startedAt) / 1000;
    metrics.reconciled(seconds);
    if (revision !== last) log.debug({ revision, hash: snapshot.hash, seconds }, "published a document");
  });

  publisher.setNodes(settings.nodes.map((address) => address.replace(/\/+$/, "")));
  let discoveryTurn: NodeJS.Immediate | undefined;
  /** The fleets whose nodes may have changed. Changes of slices within one turn of the event loop are merged. */
  const changedFleets = new Set<string>();
  function listNodes(fleet: string): void {
    if (!discovery) return;
    const ending = discovery.terminating(connector.scheme, fleet);
    if (ending.size > 0) terminating.set(fleet, ending);
    else terminating.delete(fleet);
    // A node that accepts no requests any more still gives its tokens back: it needs views until it has ended.
    const draining = ending.intersection(views.participants(fleet));
    publisher.setNodes([...new Set(discovery.addresses(connector.scheme, fleet)).union(draining)], fleet);
  }
  function updateNodes(fleet: string): void {
    listNodes(fleet);
    views.schedule();
  }
  function updateChangedFleets(): void {
    discoveryTurn = undefined;
    for (const fleet of publisher.fleets()) if (changedFleets.has(fleet)) updateNodes(fleet);
    changedFleets.clear();
  }
  watch.changes.subscribe(({ resources }) => {
    for (const { kind, key } of discovery ? resources : [])
      if (kind === "EndpointSlice")
        for (const fleet of discovery?.set(key, watch.clusterState.EndpointSlice.get(key)) ?? [])
          changedFleets.add(fleet);
    if (changedFleets.size > 0) discoveryTurn ??= setImmediate(updateChangedFleets);
  });

  function askPlugin(call: PluginEndpointCall): Promise<PluginEndpointResults> {
    const { silent } = publisher.acknowledgement(publisher.revision());
    const nodes = nodesToAsk(publisher.nodes(), { call, silent: new Set(silent) });
    return askNodes(nodes, call, connector.askPlugin);
  }

  return {
    progress,
    publisher,
    askPlugin,
    gauges: {
      revision: publisher.revision,
      savedAt: saver.savedAt,
      countersSavedAt: counters.newest,
      nodes() {
        const { acknowledged, lagging, silent } = publisher.acknowledgement(publisher.revision());
        return { current: acknowledged.length, lagging: lagging.length, silent: silent.length };
      },
    },
    async close() {
      clearImmediate(discoveryTurn);
      views.close();
      closing.abort();
      await Promise.all([saver.close(), publisher.close(), counters.close()]);
    },
  };
}

/** The node, if it takes part in a fleet. */
function countingNode({ address, fleet, state }: ReturnType<Publisher["nodes"]>[number]): readonly CountingNode[] {
  return state?.peer ? [{ address, fleet, name: state.peer.name }] : [];
}
