/**
 * Keeps one node on the newest document: pushes as soon as there is a newer one, looks in between whether the node
 * still runs it (a restarted node does not), and goes on trying while the node is silent.
 */
import { changeBetween, type NodeState, snapshotToDocument } from "@sluice/model";
import type { History, Published } from "./history.ts";
import { type NodeClient, Refused } from "./node-client.ts";
import { pause } from "./pause.ts";

/** What the operator knows of a node. Times are Unix milliseconds. */
export interface NodeView {
  readonly address: string;
  readonly state: NodeState | null;
  /** When the node last answered; when it was found, before its first answer. */
  readonly seen: number;
  /** Why the last push or look failed; null when it did not. */
  readonly trouble: string | null;
}

export interface NodeLoopOptions {
  readonly address: string;
  readonly client: NodeClient;
  readonly history: History;
  readonly signal: AbortSignal;
  /** Told after everything that was learned about the node. */
  readonly onView: (view: NodeView) => void;
  readonly onPush?: (outcome: "acknowledged" | "refused" | "failed", seconds: number) => void;
  /** Milliseconds between looks at a node that has the newest document. Default 500. */
  readonly lookInterval?: number;
  /** Milliseconds until the next try after a failure. Default 200. */
  readonly retryInterval?: number;
}

export interface NodeLoop {
  /** There is a newer document: push it at once, or right after the push that is under way. */
  wake(): void;
  readonly done: Promise<void>;
}

export function runNodeLoop(options: NodeLoopOptions): NodeLoop {
  const { address, client, history, signal, onView, onPush, lookInterval = 500, retryInterval = 200 } = options;
  let state: NodeState | null = null;
  let seen = Date.now();
  let waker = new AbortController();
  /** What the node refused, and why: sending it again would only repeat the answer. */
  let refused: { readonly hash: string; readonly reason: string } | null = null;

  const learn = (trouble: string | null) => onView({ address, state, seen, trouble });

  /** The change from what the node runs, when that is known, else the whole document. */
  async function push({ revision, snapshot }: Published): Promise<NodeState> {
    const base = state?.hash ? history.byHash(state.hash) : undefined;
    if (base) {
      const change = changeBetween(base.snapshot, snapshot);
      const answer = await client.patch({ revision, base: base.snapshot.hash, change });
      if (answer !== "stale") return answer;
    }
    return client.put({ revision, document: snapshotToDocument(snapshot) });
  }

  /** The node runs the newest document, or will not take it. */
  const current = () => {
    const target = history.latest();
    return !target || state?.hash === target.snapshot.hash || refused?.hash === target.snapshot.hash;
  };

  async function step(): Promise<void> {
    const target = history.latest();
    if (!target || !state || current()) {
      state = await client.state();
      seen = Date.now();
      learn(refused && refused.hash === target?.snapshot.hash ? refused.reason : null);
      return;
    }
    const started = performance.now();
    const report = (outcome: "acknowledged" | "refused" | "failed") =>
      onPush?.(outcome, (performance.now() - started) / 1000);
    try {
      state = await push(target);
      seen = Date.now();
      refused = null;
      report("acknowledged");
      learn(null);
    } catch (error) {
      if (!(error instanceof Refused)) {
        report("failed");
        throw error;
      }
      refused = { hash: target.snapshot.hash, reason: `refuses revision ${target.revision}: ${error.message}` };
      seen = Date.now();
      report("refused");
      learn(refused.reason);
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      waker = new AbortController();
      try {
        await step();
        if (!signal.aborted && current()) await pause(lookInterval, AbortSignal.any([signal, waker.signal]));
      } catch (error) {
        if (signal.aborted) return;
        // What the node runs is unknown now: it may have restarted, so the next step looks first.
        state = null;
        learn((error as Error).message);
        await pause(retryInterval, signal);
      }
    }
  }

  return { wake: () => waker.abort(), done: run() };
}
