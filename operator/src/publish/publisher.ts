/** Publishes snapshots to every node and knows which node runs which revision. */
import type { Snapshot } from "@sluice/model";
import { createHistory } from "./history.ts";
import { createLines } from "./lines.ts";
import type { ConnectNode } from "./node-client.ts";
import { type NodeLoop, type NodeView, type PushOutcome, runNodeLoop } from "./node-loop.ts";

/** Milliseconds after which a node that does not answer is left out of every wait, and named. */
export const SILENT_AFTER = 2000;

/** Milliseconds between two questions to one node what it runs, at least. */
const LOOK = 500;
/** Questions in a second to all nodes together, about: very many nodes are asked seldom. */
const QUESTIONS = 50;

/** Who runs at least a revision, who lags behind, and who does not answer. Addresses. */
export interface Acknowledgement {
  readonly programmed: boolean;
  readonly acknowledged: readonly string[];
  readonly lagging: readonly string[];
  readonly silent: readonly string[];
}

export interface Publisher {
  /** Replaces the list of nodes (base addresses such as http://127.0.0.1:8005). The same list changes nothing. */
  setNodes(addresses: readonly string[]): void;
  /** Publishes a snapshot; returns its revision, which stays the same while the content does. */
  publish(snapshot: Snapshot): number;
  /** `term` has become another: nodes hear of it at once. */
  lead(): void;
  /** The revision that was published last; 0 before the first. */
  revision(): number;
  hash(): string | null;
  /** Programmed when at least one node answers and every one that does runs the revision or a later one. */
  acknowledgement(revision: number): Acknowledgement;
  /** The revision that every answering node runs at least; 0 when none answers or one has no document yet. */
  acknowledgedRevision(): number;
  nodes(): readonly NodeView[];
  close(): Promise<void>;
}

export interface PublisherOptions {
  readonly connect: ConnectNode;
  /** The term in which we lead; null while another operator does: then nodes are looked at, and nothing is pushed. */
  readonly term: () => number | null;
  /** A node that has taken nothing of our term has seen this one, which is not lower. */
  readonly onOutranked: (term: number) => void;
  /** Told whenever a node's view changed: an acknowledgement, a failure, a node that came or went. */
  readonly onChange: () => void;
  readonly onPush?: (outcome: PushOutcome, seconds: number) => void;
  /** Milliseconds between looks at a node. Default: 500, and more for more than 25 nodes. */
  readonly lookInterval?: number;
  /** See NodeLoopOptions. */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

export function createPublisher(options: PublisherOptions): Publisher {
  const {
    connect,
    term,
    onOutranked,
    onChange,
    onPush,
    lookInterval,
    retryInterval,
    now = () => performance.now(),
  } = options;
  const history = createHistory();
  const lines = createLines();
  const loops = new Map<string, NodeLoop & { readonly abort: AbortController }>();
  const views = new Map<string, NodeView>();
  const silent = new Set<string>();
  const alarms = new Map<string, NodeJS.Timeout>();
  /** Nodes that have taken something of our term. */
  const reached = new Set<string>();
  let counter = 0;

  const isSilent = ({ owes }: NodeView) => owes !== null && now() - owes > SILENT_AFTER;
  /** Not all at once. */
  const untilLook = () => lookInterval ?? Math.max(LOOK, ((loops.size * 1000) / QUESTIONS) * (0.5 + Math.random()));
  const revisionOf = ({ state }: NodeView) => (state?.hash ? (history.byHash(state.hash)?.revision ?? 0) : 0);

  /**
   * Somebody was later than we are: an operator whose term our Lease or what we kept does not know. A node that listened
   * to us in this term and does not any more has another operator: we do not fight about it.
   */
  function heed({ address, state }: NodeView): void {
    const ours = term();
    if (!state?.term || ours === null || reached.has(address)) return;
    if (state.term > ours || (state.term === ours && state.revision > counter)) onOutranked(state.term);
  }

  /** After a restart, or another operator's term, the count goes on where the nodes are. */
  function count(): number {
    counter = Math.max(counter, ...[...views.values()].map(({ state }) => state?.revision ?? 0)) + 1;
    return counter;
  }

  /** A node may fall silent in the middle of a call, of which nothing is heard until it ends. */
  function watchSilence({ address, owes }: Pick<NodeView, "address" | "owes">): void {
    clearTimeout(alarms.get(address));
    if (owes === null) return;
    const alarm = setTimeout(
      () => {
        const view = views.get(address);
        if (!view || silent.has(address) || !isSilent(view)) return;
        silent.add(address);
        onChange();
      },
      owes + SILENT_AFTER + 1 - now(),
    );
    alarms.set(address, alarm.unref());
  }

  function add(address: string): void {
    const abort = new AbortController();
    const found = { address, state: null, seen: now(), owes: now(), trouble: null };
    views.set(address, found);
    watchSilence(found);
    const onView = (view: NodeView) => {
      if (abort.signal.aborted) return;
      const before = views.get(address);
      views.set(address, view);
      if (before?.owes !== view.owes) watchSilence(view);
      heed(view);
      const same = before?.state?.hash === view.state?.hash && before?.trouble === view.trouble;
      if (same && silent.has(address) === isSilent(view)) return;
      if (isSilent(view)) silent.add(address);
      else silent.delete(address);
      onChange();
    };
    const loop = runNodeLoop({
      address,
      // Another process may have its address: it has no document yet.
      client: connect(address, { signal: abort.signal, onBroken: () => loops.get(address)?.wake() }),
      history,
      lines,
      term,
      signal: abort.signal,
      onView,
      onPush(outcome, seconds) {
        if (outcome === "acknowledged") reached.add(address);
        onPush?.(outcome, seconds);
      },
      now,
      lookInterval: untilLook,
      ...(retryInterval ? { retryInterval } : {}),
    });
    loops.set(address, { ...loop, abort });
  }

  function drop(address: string): void {
    loops.get(address)?.abort.abort();
    loops.delete(address);
    views.delete(address);
    silent.delete(address);
    reached.delete(address);
    clearTimeout(alarms.get(address));
    alarms.delete(address);
  }

  return {
    setNodes(addresses) {
      const wanted = new Set(addresses);
      if (wanted.size === loops.size && addresses.every((address) => loops.has(address))) return;
      for (const address of loops.keys()) if (!wanted.has(address)) drop(address);
      for (const address of wanted) if (!loops.has(address)) add(address);
      onChange();
    },
    publish(snapshot) {
      const latest = history.latest();
      if (latest?.snapshot.hash === snapshot.hash) return latest.revision;
      history.add({ revision: count(), snapshot });
      for (const loop of loops.values()) loop.wake();
      return counter;
    },
    lead() {
      reached.clear();
      const latest = history.latest();
      if (term() !== null && latest) history.add({ revision: count(), snapshot: latest.snapshot });
      for (const loop of loops.values()) loop.wake();
      onChange();
    },
    revision: () => history.latest()?.revision ?? 0,
    hash: () => history.latest()?.snapshot.hash ?? null,
    acknowledgement(revision) {
      const acknowledged: string[] = [];
      const lagging: string[] = [];
      const unheard: string[] = [];
      for (const view of views.values()) {
        const { address } = view;
        if (isSilent(view)) unheard.push(address);
        else if (revisionOf(view) >= revision && revision > 0) acknowledged.push(address);
        else lagging.push(address);
      }
      return { programmed: acknowledged.length > 0 && lagging.length === 0, acknowledged, lagging, silent: unheard };
    },
    acknowledgedRevision() {
      const heard = [...views.values()].filter((view) => !isSilent(view)).map(revisionOf);
      return heard.length === 0 ? 0 : Math.min(...heard);
    },
    nodes: () => [...views.values()],
    async close() {
      const ends = [...loops.values()].map(({ abort, done }) => {
        abort.abort();
        return done;
      });
      for (const alarm of alarms.values()) clearTimeout(alarm);
      loops.clear();
      await Promise.all(ends);
    },
  };
}
