/** Publishes snapshots to every node and tracks which node runs which revision. */
import type { Snapshot } from "@sluice/model";
import type { ConnectNode } from "./node-client.ts";
import { type NodeLoop, type NodeStatus, type PushOutcome, runNodeLoop } from "./node-loop.ts";
import { createPublishHistory } from "./publish-history.ts";
import { createPushLimiter } from "./push-limiter.ts";

/** Milliseconds after which a node that does not answer is excluded from every wait, and reported as silent. */
export const SILENT_AFTER = 2000;

/** Minimum milliseconds between two polls of one node. */
const MIN_POLL_INTERVAL = 500;
/** Approximate polls per second of all nodes together: with very many nodes, each is polled less often. */
const MAX_POLLS_PER_SECOND = 50;

/** The addresses of nodes that run at least a revision, of those that lag behind, and of those that do not answer. */
export interface Acknowledgement {
  readonly programmed: boolean;
  readonly acknowledged: readonly string[];
  readonly lagging: readonly string[];
  readonly silent: readonly string[];
}

export interface PublisherOptions {
  readonly connect: ConnectNode;
  /** The term in which this operator leads; null while another does: then nodes are polled and nothing is pushed. */
  readonly term: () => number | null;
  /** Called when a node that has accepted nothing of this term knows the given term, which is not lower. */
  readonly onHigherTerm: (term: number) => void;
  /** Called when a node's status changed: an acknowledgement, a failure, a node added or removed. */
  readonly onChange: () => void;
  readonly onPush?: (outcome: PushOutcome, seconds: number) => void;
  /** Milliseconds between polls of a node. Default: 500, and more for more than 25 nodes. */
  readonly pollInterval?: number;
  /** See NodeLoopOptions. */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

export function createPublisher(options: PublisherOptions) {
  const {
    connect,
    term,
    onHigherTerm,
    onChange,
    onPush,
    pollInterval,
    retryInterval,
    now = () => performance.now(),
  } = options;
  const history = createPublishHistory();
  const limiter = createPushLimiter();
  const loops = new Map<string, NodeLoop & { readonly abort: AbortController }>();
  const statuses = new Map<string, NodeStatus>();
  const silent = new Set<string>();
  const silenceTimers = new Map<string, NodeJS.Timeout>();
  /** Nodes that have accepted a push in this term. */
  const acknowledgedThisTerm = new Set<string>();
  let revision = 0;

  const isSilent = ({ unansweredSince: owes }: NodeStatus) => owes !== null && now() - owes > SILENT_AFTER;
  /** The random factor spreads the polls. */
  const pollDelay = () =>
    pollInterval ?? Math.max(MIN_POLL_INTERVAL, ((loops.size * 1000) / MAX_POLLS_PER_SECOND) * (0.5 + Math.random()));
  const revisionOf = ({ state }: NodeStatus) => (state?.hash ? (history.byHash(state.hash)?.revision ?? 0) : 0);

  /**
   * Detects an operator with a later term that neither this Lease nor the saved state knows. A node that accepted
   * pushes in this term and no longer does follows another operator; this operator does not compete for it.
   */
  function detectHigherTerm({ address, state }: NodeStatus): void {
    const ours = term();
    if (!state?.term || ours === null || acknowledgedThisTerm.has(address)) return;
    if (state.term > ours || (state.term === ours && state.revision > revision)) onHigherTerm(state.term);
  }

  /** After a restart, or another operator's term, the count continues from the highest revision of the nodes. */
  function nextRevision(): number {
    revision = Math.max(revision, ...[...statuses.values()].map(({ state }) => state?.revision ?? 0)) + 1;
    return revision;
  }

  /** A node may become silent during a call, which reports nothing until it ends. */
  function watchSilence({ address, unansweredSince: owes }: Pick<NodeStatus, "address" | "unansweredSince">): void {
    clearTimeout(silenceTimers.get(address));
    if (owes === null) return;
    const alarm = setTimeout(
      () => {
        const view = statuses.get(address);
        if (!view || silent.has(address) || !isSilent(view)) return;
        silent.add(address);
        onChange();
      },
      owes + SILENT_AFTER + 1 - now(),
    );
    silenceTimers.set(address, alarm.unref());
  }

  function addNode(address: string): void {
    const abort = new AbortController();
    const found = { address, state: null, lastAnswerAt: now(), unansweredSince: now(), lastError: null };
    statuses.set(address, found);
    watchSilence(found);
    const onView = (view: NodeStatus) => {
      if (abort.signal.aborted) return;
      const before = statuses.get(address);
      statuses.set(address, view);
      if (before?.unansweredSince !== view.unansweredSince) watchSilence(view);
      detectHigherTerm(view);
      const same = before?.state?.hash === view.state?.hash && before?.lastError === view.lastError;
      if (same && silent.has(address) === isSilent(view)) return;
      if (isSilent(view)) silent.add(address);
      else silent.delete(address);
      onChange();
    };
    const loop = runNodeLoop({
      address,
      // When the connection closes, another process may have the address, and it has no document yet.
      client: connect(address, { signal: abort.signal, onDisconnect: () => loops.get(address)?.wake() }),
      history,
      limiter,
      term,
      signal: abort.signal,
      onStatus: onView,
      onPush(outcome, seconds) {
        if (outcome === "acknowledged") acknowledgedThisTerm.add(address);
        onPush?.(outcome, seconds);
      },
      now,
      pollInterval: pollDelay,
      ...(retryInterval ? { retryInterval } : {}),
    });
    loops.set(address, { ...loop, abort });
  }

  function removeNode(address: string): void {
    loops.get(address)?.abort.abort();
    loops.delete(address);
    statuses.delete(address);
    silent.delete(address);
    acknowledgedThisTerm.delete(address);
    clearTimeout(silenceTimers.get(address));
    silenceTimers.delete(address);
  }

  return {
    /** Replaces the list of nodes (base addresses such as http://127.0.0.1:8005). The same list changes nothing. */
    setNodes(addresses: readonly string[]) {
      const wanted = new Set(addresses);
      if (wanted.size === loops.size && addresses.every((address) => loops.has(address))) return;
      for (const address of loops.keys()) if (!wanted.has(address)) removeNode(address);
      for (const address of wanted) if (!loops.has(address)) addNode(address);
      onChange();
    },
    /** Publishes a snapshot and returns its revision, which stays the same while the content does. */
    publish(snapshot: Snapshot) {
      const latest = history.latest();
      if (latest?.snapshot.hash === snapshot.hash) return latest.revision;
      history.add({ revision: nextRevision(), snapshot });
      for (const loop of loops.values()) loop.wake();
      return revision;
    },
    /** The result of `term` has changed: nodes are notified at once. */
    termChanged() {
      acknowledgedThisTerm.clear();
      const latest = history.latest();
      if (term() !== null && latest) history.add({ revision: nextRevision(), snapshot: latest.snapshot });
      for (const loop of loops.values()) loop.wake();
      onChange();
    },
    /** The last published revision; 0 before the first. */
    revision: () => history.latest()?.revision ?? 0,
    hash: () => history.latest()?.snapshot.hash ?? null,
    /** Programmed when at least one node answers and every answering node runs the revision or a later one. */
    acknowledgement(revision: number) {
      const acknowledged: string[] = [];
      const lagging: string[] = [];
      const unanswered: string[] = [];
      for (const view of statuses.values()) {
        const { address } = view;
        if (isSilent(view)) unanswered.push(address);
        else if (revisionOf(view) >= revision && revision > 0) acknowledged.push(address);
        else lagging.push(address);
      }
      return { programmed: acknowledged.length > 0 && lagging.length === 0, acknowledged, lagging, silent: unanswered };
    },
    /** The lowest revision of all answering nodes; 0 when none answers or one has no document yet. */
    acknowledgedRevision() {
      const answering = [...statuses.values()].filter((view) => !isSilent(view)).map(revisionOf);
      return answering.length === 0 ? 0 : Math.min(...answering);
    },
    nodes: () => [...statuses.values()],
    async close() {
      const ends = [...loops.values()].map(({ abort, done }) => {
        abort.abort();
        return done;
      });
      for (const alarm of silenceTimers.values()) clearTimeout(alarm);
      loops.clear();
      await Promise.all(ends);
    },
  };
}

export type Publisher = ReturnType<typeof createPublisher>;
