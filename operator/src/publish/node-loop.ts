/**
 * Keeps one node on the newest document: pushes as soon as there is a newer one, looks in between whether the node
 * still runs it (a restarted node does not), and goes on trying while the node is silent. While another operator leads,
 * it only looks.
 */
import type { NodeState } from "@sluice/model";
import type { History, Published } from "./history.ts";
import type { Lines } from "./lines.ts";
import { type NodeClient, Refused } from "./node-client.ts";
import { pause } from "./pause.ts";
import { changeBetween, snapshotToDocument } from "./shared.ts";

export type PushOutcome = "acknowledged" | "refused" | "failed";

/** What the operator knows of a node. Times are milliseconds of a clock that never goes back. */
export interface NodeView {
  readonly address: string;
  readonly state: NodeState | null;
  /** When the node last answered; when it was found, before its first answer. */
  readonly seen: number;
  /**
   * Since when it has been asked for something and has answered nothing; null: it owes no answer. While it waits in our
   * own line it has not been asked, unless it left the last document unanswered: it would else be waited for in between.
   */
  readonly owes: number | null;
  /** Why the last push or look failed; null when it did not. */
  readonly trouble: string | null;
}

export interface NodeLoopOptions {
  readonly address: string;
  readonly client: NodeClient;
  readonly history: History;
  /** Shared by all nodes. */
  readonly lines: Lines;
  /** The term in which we lead; null while another operator does. */
  readonly term: () => number | null;
  readonly signal: AbortSignal;
  /** Told after everything that was learned about the node. */
  readonly onView: (view: NodeView) => void;
  readonly onPush?: (outcome: PushOutcome, seconds: number) => void;
  /** Milliseconds until the next look at a node that has the newest document. Default 500. */
  readonly lookInterval?: () => number;
  /**
   * Milliseconds until the next try after a failure. Doubled with each push that fails, and an eighth of the time for
   * which the node has not answered; up to 5 s. Default 200.
   */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

export interface NodeLoop {
  /**
   * There is a newer document or term: push at once, or right after the push that is under way. Or the node may be
   * another process than a moment ago: look at once.
   */
  wake(): void;
  readonly done: Promise<void>;
}

/** What a node will not take, and why: sending it again would only repeat the answer. A new process may take it. */
interface Refusal {
  readonly hash: string;
  readonly node: string | undefined;
  readonly reason: string;
}

/** What is to be sent to a node. */
interface Due {
  readonly target: Published;
  readonly term: number;
}

const LONGEST_RETRY = 5000;
/**
 * Milliseconds in the line after which a node is looked at before it is sent anything: one that has died meanwhile would
 * keep its place for as long as a push may take, and a look takes a tenth of that.
 */
const BELIEVED = 2000;
/** Milliseconds after which a push that fails has kept a place from others. Answers that say no come sooner. */
const LONG = 2000;
/** A node that has been away for long may be found so much later as it was away. */
const SHARE_OF_SILENCE = 1 / 8;

export function runNodeLoop(options: NodeLoopOptions): NodeLoop {
  const { address, client, history, lines, term, signal, onView, onPush, now = () => performance.now() } = options;
  const { lookInterval = () => 500, retryInterval = 200 } = options;
  let state: NodeState | null = null;
  let seen = now();
  let owes: number | null = seen;
  /** Ends the sleep that is under way. */
  let wake = () => {};
  let refusal: Refusal | null = null;
  let failedPushes = 0;
  /** It left the last whole document unanswered. */
  let hangs = false;

  signal.addEventListener("abort", () => wake(), { once: true });

  /** Until the next look, or until there is something to do. It is begun only while there is nothing. */
  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => wake(), lookInterval());
      wake = () => {
        clearTimeout(timer);
        wake = () => {};
        resolve();
      };
    });

  const learn = (trouble: string | null) => onView({ address, state, seen, owes, trouble });
  function answered(): void {
    seen = now();
    owes = null;
  }
  /** Before it is asked: silence counts from here. */
  function ask(): void {
    if (owes !== null) return;
    owes = now();
    const target = history.latest();
    learn(target ? refused(target) : null);
  }
  const refused = ({ snapshot }: Published) =>
    refusal?.hash === snapshot.hash && refusal.node === state?.node ? refusal.reason : null;

  /** Null: it runs the newest document and has seen our term, or will not take it; or it is another's to push. */
  function due(): Due | null {
    const target = history.latest();
    const ours = term();
    if (!target || ours === null || refused(target) !== null) return null;
    // Before it has seen our term it would take a push of an operator that led before us.
    const isCurrent = state?.hash === target.snapshot.hash && (state.term ?? ours) === ours;
    return isCurrent ? null : { target, term: ours };
  }

  async function look(): Promise<void> {
    ask();
    state = await client.state();
    answered();
    const target = history.latest();
    learn(target ? refused(target) : null);
  }

  /** What came of a push; undefined: the node does not run what the change is from. */
  async function conclude(target: Published, pushed: Promise<NodeState | "stale">): Promise<PushOutcome | undefined> {
    const node = state?.node;
    const refuse = (reason: string) => {
      refusal = { hash: target.snapshot.hash, node, reason };
    };
    let outcome: PushOutcome | undefined = "acknowledged";
    try {
      const answer = await pushed;
      // It runs something else than it said: what, is not known.
      state = answer === "stale" ? state && { ...state, hash: null } : answer;
      if (answer === "stale") outcome = undefined;
      else if (answer.hash !== target.snapshot.hash) {
        outcome = "refused";
        refuse(`reads revision ${target.revision} in another way: it is of another version (${answer.version})`);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      outcome = "refused";
      refuse(`refuses revision ${target.revision}: ${error.message}`);
    }
    answered();
    learn(refused(target));
    return outcome;
  }

  /** The change from what the node runs; undefined when that is not known. */
  async function pushChange({ target, term }: Due): Promise<PushOutcome | undefined> {
    const { revision, snapshot } = target;
    const base = state?.hash ? history.byHash(state.hash) : undefined;
    if (!base) return undefined;
    const change = changeBetween(base.snapshot, snapshot);
    ask();
    return conclude(target, client.patch({ term, revision, base: base.snapshot.hash, change }));
  }

  /** The whole document that is the newest when it is the node's turn; undefined: it has it by then. */
  function pushWhole(): Promise<PushOutcome | undefined> {
    const since = now();
    if (hangs) ask();
    return (hangs ? lines.again : lines.first)(async () => {
      if (signal.aborted) return undefined;
      if (now() - since > BELIEVED) await look();
      const what = due();
      if (!what) return undefined;
      const { target, term } = what;
      const document = snapshotToDocument(target.snapshot);
      ask();
      const sent = now();
      try {
        const outcome = await conclude(target, client.put({ term, revision: target.revision, document }));
        hangs = false;
        return outcome;
      } catch (error) {
        hangs = now() - sent > LONG;
        throw error;
      }
    });
  }

  async function step(): Promise<void> {
    const what = state && due();
    if (!what) return look();
    const started = performance.now();
    let outcome: PushOutcome | undefined = "failed";
    try {
      outcome = (await pushChange(what)) ?? (await pushWhole());
    } finally {
      failedPushes = outcome === "failed" ? failedPushes + 1 : 0;
      if (outcome && !signal.aborted) onPush?.(outcome, (performance.now() - started) / 1000);
    }
  }

  function retryWait(): number {
    const backoff = retryInterval * 2 ** Math.max(0, failedPushes - 1);
    return Math.min(Math.max(backoff, (now() - (owes ?? now())) * SHARE_OF_SILENCE), LONGEST_RETRY);
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await step();
        if (!signal.aborted && !due()) await sleep();
      } catch (error) {
        if (signal.aborted) return;
        // What the node runs is unknown now: it may have restarted, so the next step looks first.
        state = null;
        learn((error as Error).message);
        await pause(retryWait(), signal);
      }
    }
  }

  return { wake: () => wake(), done: run() };
}
