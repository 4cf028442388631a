/**
 * Publishes snapshots to every node and tracks which node runs which revision. The nodes of each fleet get the part of
 * the snapshot that their fleet needs.
 */
import { SHARED_FLEET, type Snapshot } from "@sluice/model";
import { createFleetDocuments } from "./fleets/fleet-documents.ts";
import type { ConnectNode } from "./node-client.ts";
import { type NodeLoop, type NodeLoopOptions, type NodeStatus, runNodeLoop } from "./node-loop.ts";
import { createPublishHistory, type PublishedSnapshot, type PublishHistory } from "./publish-history.ts";
import { createPushLimiter } from "./push-limiter.ts";

/** Milliseconds after which a node that does not answer is excluded from every wait, and reported as silent. */
export const SILENT_AFTER = 2000;

/** Minimum milliseconds between two polls of one node. */
const MIN_POLL_INTERVAL = 500;
/** Approximate polls per second of all nodes together: with very many nodes, each is polled less often. */
const MAX_POLLS_PER_SECOND = 50;

/**
 * Whether a revision counts as programmed, and the addresses of the nodes: those that run the revision or a later one,
 * those that run an earlier one or none, and those that do not answer.
 */
export interface Acknowledgement {
  readonly programmed: boolean;
  readonly acknowledged: readonly string[];
  readonly lagging: readonly string[];
  readonly silent: readonly string[];
}

export interface PublisherOptions extends Pick<NodeLoopOptions, "onPush" | "retryInterval" | "now"> {
  readonly connect: ConnectNode;
  /** The term in which this operator leads; null while it does not lead: then it polls nodes and pushes nothing. */
  readonly term: () => number | null;
  /**
   * Called with the term of a node that has accepted no push in this term, and that knows a later term or a later
   * revision of this term.
   */
  readonly onHigherTerm: (term: number) => void;
  /** Called when a node's acknowledgement, error or silence, the list of nodes, or the term has changed. */
  readonly onChange: () => void;
  /** Called when a node's part in its fleet, its term, or whether it answers has changed. */
  readonly onPeerChange?: () => void;
  /** Called with a node's `pluginSetHash` when the node is a new process, or answers again after a failure. */
  readonly onPluginSet?: (address: string, pluginSet: string) => void;
  /** Milliseconds between polls of a node. Default: 500, and more with dozens of nodes. */
  readonly pollInterval?: number;
}

interface TrackedNode {
  readonly fleet: PublishedFleet;
  readonly abort: AbortController;
  /** Undefined until the loop has started. */
  loop?: NodeLoop;
  status: NodeStatus;
  /** Whether the node was reported as silent. */
  isSilent: boolean;
  silenceTimer?: NodeJS.Timeout;
  /** Whether the node has accepted a push in this term. */
  hasAcceptedTerm: boolean;
}

/** The nodes that get the same document. */
interface PublishedFleet {
  readonly name: string;
  /** The addresses of the nodes as they were given last. */
  addresses: ReadonlySet<string>;
  /** The published documents of the fleet, each with the revision in which the fleet's document changed to it. */
  readonly history: PublishHistory;
}

export function createPublisher(options: PublisherOptions) {
  const { connect, term, onHigherTerm, onChange, pollInterval, now = () => performance.now() } = options;
  const documents = createFleetDocuments();
  const fleets = new Map<string, PublishedFleet>();
  const sharedFleet = fleetNamed(SHARED_FLEET);
  const limiter = createPushLimiter();
  /** By address. */
  const nodes = new Map<string, TrackedNode>();
  let latest: PublishedSnapshot | undefined;
  let revision = 0;

  const isSilent = ({ unansweredSince: owes }: NodeStatus) => owes !== null && now() - owes > SILENT_AFTER;
  /** The random factor spreads the polls. */
  const pollDelay = () =>
    pollInterval ?? Math.max(MIN_POLL_INTERVAL, ((nodes.size * 1000) / MAX_POLLS_PER_SECOND) * (0.5 + Math.random()));
  /** What a node lacks, as a string to compare. */
  const lackingIn = ({ state }: NodeStatus) => JSON.stringify([state?.missingPlugins, state?.failedListeners]);
  const peerFactsOf = ({ state, isRefusing }: NodeStatus) =>
    JSON.stringify([state?.peer, state?.term, state === null, isRefusing]);
  function reportPluginSet({ state: before }: NodeStatus, { address, state }: NodeStatus): void {
    if (state?.pluginSet !== undefined && (state.node !== before?.node || state.pluginSet !== before.pluginSet))
      options.onPluginSet?.(address, state.pluginSet);
  }

  function fleetNamed(name: string): PublishedFleet {
    const create = () => ({ name, addresses: new Set<string>(), history: createPublishHistory() });
    return fleets.getOrInsertComputed(name, create);
  }

  /**
   * The last revision that the node runs. A revision that does not change the document of the node's fleet needs no
   * push, so the node runs all revisions before the next change of that document.
   */
  function revisionOf({ fleet: { history }, status: { state } }: TrackedNode): number {
    const served = state?.hash ? history.byHash(state.hash) : undefined;
    if (!state?.hash || !served) return 0;
    if (served === history.latest()) return latest?.revision ?? 0;
    return (history.after(state.hash)?.revision ?? revision + 1) - 1;
  }

  /**
   * Detects another operator whose term is later than this one's, or equal with a later revision, and is known neither
   * from the Lease nor from the saved state. A node that accepted pushes in this term and rejects them now follows
   * another operator; this operator does not compete for the node.
   */
  function detectHigherTerm({ status: { state }, hasAcceptedTerm }: TrackedNode): void {
    const ours = term();
    if (!state?.term || ours === null || hasAcceptedTerm) return;
    if (state.term > ours || (state.term === ours && state.revision > revision)) onHigherTerm(state.term);
  }

  /** After a restart or another operator's term, revisions continue from the highest revision of the nodes. */
  function nextRevision(): number {
    revision = Math.max(revision, ...[...nodes.values()].map(({ status: { state } }) => state?.revision ?? 0)) + 1;
    return revision;
  }

  /** A node may become silent during a call, which reports nothing until it ends. */
  function watchSilence(node: TrackedNode): void {
    clearTimeout(node.silenceTimer);
    const { unansweredSince: owes } = node.status;
    if (owes === null) return;
    const alarm = setTimeout(
      () => {
        if (node.isSilent || !isSilent(node.status)) return;
        node.isSilent = true;
        onChange();
      },
      owes + SILENT_AFTER + 1 - now(),
    );
    node.silenceTimer = alarm.unref();
  }

  function addNode(address: string, fleet: PublishedFleet): void {
    const abort = new AbortController();
    const status = {
      address,
      state: null,
      lastAnswerAt: null,
      unansweredSince: now(),
      lastError: null,
      isRefusing: false,
    };
    const node: TrackedNode = { fleet, abort, status, isSilent: false, hasAcceptedTerm: false };
    nodes.set(address, node);
    watchSilence(node);
    node.loop = runNodeLoop({
      ...options,
      address,
      // When the connection closes, poll immediately: a new process at the address may have no document yet.
      client: connect(address, { signal: abort.signal, onDisconnect: () => node.loop?.wake() }),
      history: fleet.history,
      limiter,
      signal: abort.signal,
      onStatus(status) {
        if (abort.signal.aborted) return;
        const before = node.status;
        node.status = status;
        if (peerFactsOf(before) !== peerFactsOf(status)) options.onPeerChange?.();
        if (before.unansweredSince !== status.unansweredSince) watchSilence(node);
        detectHigherTerm(node);
        reportPluginSet(before, status);
        const same =
          before.state?.hash === status.state?.hash &&
          before.lastError === status.lastError &&
          lackingIn(before) === lackingIn(status);
        if (same && node.isSilent === isSilent(status)) return;
        node.isSilent = isSilent(status);
        onChange();
      },
      onPush(outcome, seconds) {
        if (outcome === "acknowledged") node.hasAcceptedTerm = true;
        options.onPush?.(outcome, seconds);
      },
      pollInterval: pollDelay,
    });
  }

  /** Resolves when the node's loop has ended. */
  function stopNode({ abort, silenceTimer, loop }: TrackedNode): Promise<void> | undefined {
    abort.abort();
    clearTimeout(silenceTimer);
    return loop?.done;
  }

  function nodesOf(fleetName: string): readonly TrackedNode[] {
    const fleet = fleets.get(fleetName);
    const listed = Array.from(fleet?.addresses ?? [], (address) => nodes.get(address));
    return listed.filter((node) => node?.fleet === fleet) as readonly TrackedNode[];
  }

  function removeNode(address: string): void {
    const node = nodes.get(address);
    nodes.delete(address);
    if (node) void stopNode(node);
  }

  function wake(woken: (node: TrackedNode) => boolean): void {
    for (const node of nodes.values()) if (woken(node)) node.loop?.wake();
  }

  /** Removes the fleets that have no document any more, with their nodes. */
  function removeFleets(wanted: ReadonlyMap<string, Snapshot>): void {
    for (const [name, { addresses }] of fleets) {
      if (wanted.has(name)) continue;
      fleets.delete(name);
      for (const address of addresses) if (nodes.get(address)?.fleet.name === name) removeNode(address);
    }
  }

  return {
    /**
     * Replaces the list of nodes of a fleet (base URLs such as http://127.0.0.1:8005). The same list changes nothing. An
     * address belongs to the fleet that named it last: the address of a deleted pod may be given to a pod of another
     * fleet before the list of the first fleet is updated.
     */
    setNodes(addresses: readonly string[], fleetName = SHARED_FLEET) {
      const fleet = fleetNamed(fleetName);
      const [before, wanted] = [fleet.addresses, new Set(addresses)];
      if (wanted.size === before.size && wanted.isSubsetOf(before)) return;
      fleet.addresses = wanted;
      for (const address of before.difference(wanted)) if (nodes.get(address)?.fleet === fleet) removeNode(address);
      for (const address of wanted.difference(before)) {
        removeNode(address);
        addNode(address, fleet);
      }
      onChange();
    },
    /** The names of the fleets that have a document. */
    fleets: (): Iterable<string> => fleets.keys(),
    /** Publishes a snapshot and returns its revision, which stays the same while the content does. */
    publish(snapshot: Snapshot) {
      if (latest?.snapshot.hash === snapshot.hash) return latest.revision;
      latest = { revision: nextRevision(), snapshot };
      const parts = documents.update(snapshot);
      removeFleets(parts);
      const changed = new Set<PublishedFleet>();
      for (const [name, part] of parts) {
        const fleet = fleetNamed(name);
        if (fleet.history.latest()?.snapshot.hash === part.hash) continue;
        fleet.history.add({ revision, snapshot: part });
        changed.add(fleet);
      }
      wake(({ fleet }) => changed.has(fleet));
      return revision;
    },
    /** Called when the result of `term` has changed. A new leader notifies the nodes immediately. */
    termChanged() {
      for (const node of nodes.values()) node.hasAcceptedTerm = false;
      if (term() !== null && latest) {
        latest = { revision: nextRevision(), snapshot: latest.snapshot };
        for (const { history } of fleets.values()) {
          const last = history.latest();
          if (last) history.add({ revision, snapshot: last.snapshot });
        }
      }
      wake(() => true);
      onChange();
    },
    /** The last published revision; 0 before the first. */
    revision: () => latest?.revision ?? 0,
    hash: () => latest?.snapshot.hash ?? null,
    /**
     * Programmed when every answering node runs the revision or a later one, and each of the fleets has such a node.
     *
     * @param of The names of the fleets that count. Default: the shared fleet, and of other fleets the nodes that serve
     * a document. A new node of another fleet gets its document before it becomes ready.
     */
    acknowledgement(revision: number, of?: readonly string[]) {
      const acknowledged: string[] = [];
      const lagging: string[] = [];
      const unanswered: string[] = [];
      const serving = new Set<string>();
      for (const node of of ? of.flatMap(nodesOf) : nodes.values()) {
        const { fleet, status } = node;
        const { address } = status;
        if (isSilent(status)) unanswered.push(address);
        else if (revisionOf(node) >= revision && revision > 0) {
          acknowledged.push(address);
          serving.add(fleet.name);
        } else if (of || fleet === sharedFleet || status.state?.hash) lagging.push(address);
      }
      const isServed = (of ?? [SHARED_FLEET]).every((name) => serving.has(name));
      return { programmed: isServed && lagging.length === 0, acknowledged, lagging, silent: unanswered };
    },
    /** The lowest revision of the nodes that count for an acknowledgement; 0 when none of the shared fleet answers. */
    acknowledgedRevision() {
      let [lowest, isServed] = [Number.POSITIVE_INFINITY, false];
      for (const node of nodes.values()) {
        const isShared = node.fleet === sharedFleet;
        if (isSilent(node.status) || !(isShared || node.status.state?.hash)) continue;
        isServed ||= isShared;
        lowest = Math.min(lowest, revisionOf(node));
      }
      return isServed ? lowest : 0;
    },
    /** By the name of a plugin that the document uses: addresses of answering nodes that do not have the plugin. */
    missingPlugins(): ReadonlyMap<string, readonly string[]> {
      const missing = [...nodes.values()].flatMap(({ status }) =>
        isSilent(status) ? [] : (status.state?.missingPlugins ?? []).map((name) => [name, status.address] as const),
      );
      const byName = Map.groupBy(missing, ([name]) => name);
      return new Map([...byName].map(([name, found]) => [name, found.map(([, address]) => address)]));
    },
    /** By the name of a listener: the answering nodes that do not serve it, each with the reason. */
    failedListeners(): ReadonlyMap<string, readonly { readonly address: string; readonly reason: string }[]> {
      const failed = [...nodes.values()].flatMap(({ status }) =>
        isSilent(status)
          ? []
          : (status.state?.failedListeners ?? []).map(({ name, reason }) => ({
              name,
              failure: { address: status.address, reason },
            })),
      );
      const byName = Map.groupBy(failed, ({ name }) => name);
      return new Map([...byName].map(([name, found]) => [name, found.map(({ failure }) => failure)]));
    },
    nodes: () => Array.from(nodes.values(), ({ fleet, status }) => ({ ...status, fleet: fleet.name })),
    async close() {
      await Promise.all([...nodes.values()].map(stopNode));
    },
  };
}

export type Publisher = ReturnType<typeof createPublisher>;
