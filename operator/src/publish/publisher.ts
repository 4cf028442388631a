/** Publishes snapshots to every node and tracks which node runs which revision. */
import type { Snapshot } from "@sluice/model";
import type { ConnectNode } from "./node-client.ts";
import { type NodeLoop, type NodeLoopOptions, type NodeStatus, runNodeLoop } from "./node-loop.ts";
import { createPublishHistory } from "./publish-history.ts";
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
  /** Called with a node's `pluginSetHash` when the node is a new process, or answers again after a failure. */
  readonly onPluginSet?: (address: string, pluginSet: string) => void;
  /** Milliseconds between polls of a node. Default: 500, and more with dozens of nodes. */
  readonly pollInterval?: number;
}

interface TrackedNode {
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

export function createPublisher(options: PublisherOptions) {
  const { connect, term, onHigherTerm, onChange, pollInterval, now = () => performance.now() } = options;
  const history = createPublishHistory();
  const limiter = createPushLimiter();
  /** By address. */
  const nodes = new Map<string, TrackedNode>();
  let revision = 0;

  const isSilent = ({ unansweredSince: owes }: NodeStatus) => owes !== null && now() - owes > SILENT_AFTER;
  /** The random factor spreads the polls. */
  const pollDelay = () =>
    pollInterval ?? Math.max(MIN_POLL_INTERVAL, ((nodes.size * 1000) / MAX_POLLS_PER_SECOND) * (0.5 + Math.random()));
  /** What a node lacks, as a text to compare. */
  const lackingIn = ({ state }: NodeStatus) => JSON.stringify([state?.missingPlugins, state?.failedListeners]);
  function reportPluginSet({ state: before }: NodeStatus, { address, state }: NodeStatus): void {
    if (state?.pluginSet !== undefined && (state.node !== before?.node || state.pluginSet !== before.pluginSet))
      options.onPluginSet?.(address, state.pluginSet);
  }
  const revisionOf = ({ state }: NodeStatus) => (state?.hash ? (history.byHash(state.hash)?.revision ?? 0) : 0);

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

  function addNode(address: string): void {
    const abort = new AbortController();
    const status = { address, state: null, lastAnswerAt: null, unansweredSince: now(), lastError: null };
    const node: TrackedNode = { abort, status, isSilent: false, hasAcceptedTerm: false };
    nodes.set(address, node);
    watchSilence(node);
    node.loop = runNodeLoop({
      ...options,
      address,
      // When the connection closes, poll immediately: a new process at the address may have no document yet.
      client: connect(address, { signal: abort.signal, onDisconnect: () => node.loop?.wake() }),
      history,
      limiter,
      signal: abort.signal,
      onStatus(status) {
        if (abort.signal.aborted) return;
        const before = node.status;
        node.status = status;
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

  function wakeAll(): void {
    for (const { loop } of nodes.values()) loop?.wake();
  }

  return {
    /** Replaces the list of nodes (base URLs such as http://127.0.0.1:8005). The same list changes nothing. */
    setNodes(addresses: readonly string[]) {
      const wanted = new Set(addresses);
      if (wanted.size === nodes.size && addresses.every((address) => nodes.has(address))) return;
      for (const [address, node] of nodes) {
        if (wanted.has(address)) continue;
        nodes.delete(address);
        void stopNode(node);
      }
      for (const address of wanted) if (!nodes.has(address)) addNode(address);
      onChange();
    },
    /** Publishes a snapshot and returns its revision, which stays the same while the content does. */
    publish(snapshot: Snapshot) {
      const latest = history.latest();
      if (latest?.snapshot.hash === snapshot.hash) return latest.revision;
      history.add({ revision: nextRevision(), snapshot });
      wakeAll();
      return revision;
    },
    /** Called when the result of `term` has changed. A new leader notifies the nodes immediately. */
    termChanged() {
      for (const node of nodes.values()) node.hasAcceptedTerm = false;
      const latest = history.latest();
      if (term() !== null && latest) history.add({ revision: nextRevision(), snapshot: latest.snapshot });
      wakeAll();
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
      for (const [address, { status }] of nodes) {
        if (isSilent(status)) unanswered.push(address);
        else if (revisionOf(status) >= revision && revision > 0) acknowledged.push(address);
        else lagging.push(address);
      }
      return { programmed: acknowledged.length > 0 && lagging.length === 0, acknowledged, lagging, silent: unanswered };
    },
    /** The lowest revision of all answering nodes; 0 when none answers or one has no document yet. */
    acknowledgedRevision() {
      const statuses = [...nodes.values()].map(({ status }) => status);
      const answering = statuses.filter((status) => !isSilent(status)).map(revisionOf);
      return answering.length === 0 ? 0 : Math.min(...answering);
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
    nodes: () => [...nodes.values()].map(({ status }) => status),
    async close() {
      await Promise.all([...nodes.values()].map(stopNode));
    },
  };
}

export type Publisher = ReturnType<typeof createPublisher>;
