/**
 * Keeps one node on the newest document: pushes as soon as there is a newer one, looks in between whether the node
 * still runs it (a restarted node does not), and goes on trying while the node is silent. While another operator leads,
 * it only looks.
 */
import type { NodeState } from "@sluice/model";
import { abortableDelay } from "../abortable-delay.ts";
import { type NodeClient, PushRefusedError } from "./node-client.ts";
import type { PublishedSnapshot, PublishHistory } from "./publish-history.ts";
import { sharedChange, sharedDocument } from "./push-content.ts";
import type { PushLimiter } from "./push-limiter.ts";

export type PushOutcome = "acknowledged" | "refused" | "failed";

/** What the operator knows of a node. Times are milliseconds of a clock that never goes back. */
export interface NodeStatus {
  readonly address: string;
  readonly state: NodeState | null;
  /** When the node last answered; when it was found, before its first answer. */
  readonly lastAnswerAt: number;
  /**
   * Since when it has been asked for something and has answered nothing; null: it owes no answer. While it waits in our
   * own line it has not been asked, unless it left the last document unanswered: it would else be waited for in between.
   */
  readonly unansweredSince: number | null;
  /** Why the last push or look failed; null when it did not. */
  readonly lastError: string | null;
}

export interface NodeLoopOptions {
  readonly address: string;
  readonly client: NodeClient;
  readonly history: PublishHistory;
  /** Shared by all nodes. */
  readonly limiter: PushLimiter;
  /** The term in which we lead; null while another operator does. */
  readonly term: () => number | null;
  readonly signal: AbortSignal;
  /** Told after everything that was learned about the node. */
  readonly onStatus: (view: NodeStatus) => void;
  readonly onPush?: (outcome: PushOutcome, seconds: number) => void;
  /** Milliseconds until the next look at a node that has the newest document. Default 500. */
  readonly pollInterval?: () => number;
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
interface NodeRefusal {
  readonly hash: string;
  readonly node: string | undefined;
  readonly reason: string;
}

/** What is to be sent to a node. */
interface PendingPush {
  readonly target: PublishedSnapshot;
  readonly term: number;
}

const MAX_RETRY_INTERVAL = 5000;
/**
 * Milliseconds in the line after which a node is looked at before it is sent anything: one that has died meanwhile would
 * keep its place for as long as a push may take, and a look takes a tenth of that.
 */
const STATE_MAX_AGE = 2000;
/** Milliseconds after which a push that fails has kept a place from others. Answers that say no come sooner. */
const SLOW_PUSH = 2000;
/** A node that has been away for long may be found so much later as it was away. */
const SILENCE_BACKOFF_FACTOR = 1 / 8;

export function runNodeLoop(options: NodeLoopOptions): NodeLoop {
  const { address, client, history, limiter, term, signal, onStatus, onPush, now = () => performance.now() } = options;
  const { pollInterval = () => 500, retryInterval = 200 } = options;
  let state: NodeState | null = null;
  let lastAnswerAt = now();
  let unansweredSince: number | null = lastAnswerAt;
  /** Ends the sleep that is under way. */
  let wake = () => {};
  let refusal: NodeRefusal | null = null;
  let failedPushes = 0;
  /** It left the last whole document unanswered. */
  let leftUnanswered = false;

  signal.addEventListener("abort", () => wake(), { once: true });

  /** Until the next look, or until there is something to do. It is begun only while there is nothing. */
  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => wake(), pollInterval());
      wake = () => {
        clearTimeout(timer);
        wake = () => {};
        resolve();
      };
    });

  const reportStatus = (trouble: string | null) =>
    onStatus({ address, state, lastAnswerAt, unansweredSince, lastError: trouble });
  function markAnswered(): void {
    lastAnswerAt = now();
    unansweredSince = null;
  }
  /** Before it is asked: silence counts from here. */
  function markAsked(): void {
    if (unansweredSince !== null) return;
    unansweredSince = now();
    const target = history.latest();
    reportStatus(target ? refusalReason(target) : null);
  }
  const refusalReason = ({ snapshot }: PublishedSnapshot) =>
    refusal?.hash === snapshot.hash && refusal.node === state?.node ? refusal.reason : null;

  /** Null: it runs the newest document and has seen our term, or will not take it; or it is another's to push. */
  function pendingPush(): PendingPush | null {
    const target = history.latest();
    const ours = term();
    if (!target || ours === null || refusalReason(target) !== null) return null;
    // Before it has seen our term it would take a push of an operator that led before us.
    const isCurrent = state?.hash === target.snapshot.hash && (state.term ?? ours) === ours;
    return isCurrent ? null : { target, term: ours };
  }

  async function poll(): Promise<void> {
    markAsked();
    state = await client.state();
    markAnswered();
    const target = history.latest();
    reportStatus(target ? refusalReason(target) : null);
  }

  /** What came of a push; undefined: the node does not run what the change is from. */
  async function settlePush(
    target: PublishedSnapshot,
    pushed: Promise<NodeState | "stale">,
  ): Promise<PushOutcome | undefined> {
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
      if (!(error instanceof PushRefusedError)) throw error;
      outcome = "refused";
      refuse(`refuses revision ${target.revision}: ${error.message}`);
    }
    markAnswered();
    reportStatus(refusalReason(target));
    return outcome;
  }

  /** The change from what the node runs; undefined when that is not known. */
  async function pushChange({ target, term }: PendingPush): Promise<PushOutcome | undefined> {
    const { revision, snapshot } = target;
    const base = state?.hash ? history.byHash(state.hash) : undefined;
    if (!base) return undefined;
    const change = sharedChange(base.snapshot, snapshot);
    markAsked();
    return settlePush(target, client.patch({ term, revision, base: base.snapshot.hash, change }));
  }

  /** The whole document that is the newest when it is the node's turn; undefined: it has it by then. */
  function pushFullDocument(): Promise<PushOutcome | undefined> {
    const since = now();
    if (leftUnanswered) markAsked();
    return (leftUnanswered ? limiter.retry : limiter.regular)(async () => {
      if (signal.aborted) return undefined;
      if (now() - since > STATE_MAX_AGE) await poll();
      const what = pendingPush();
      if (!what) return undefined;
      const { target, term } = what;
      const document = sharedDocument(target.snapshot);
      markAsked();
      const sent = now();
      try {
        const outcome = await settlePush(target, client.put({ term, revision: target.revision, document }));
        leftUnanswered = false;
        return outcome;
      } catch (error) {
        leftUnanswered = now() - sent > SLOW_PUSH;
        throw error;
      }
    });
  }

  async function step(): Promise<void> {
    const what = state && pendingPush();
    if (!what) return poll();
    const started = performance.now();
    let outcome: PushOutcome | undefined = "failed";
    try {
      outcome = (await pushChange(what)) ?? (await pushFullDocument());
    } finally {
      failedPushes = outcome === "failed" ? failedPushes + 1 : 0;
      if (outcome && !signal.aborted) onPush?.(outcome, (performance.now() - started) / 1000);
    }
  }

  function retryDelay(): number {
    const backoff = retryInterval * 2 ** Math.max(0, failedPushes - 1);
    return Math.min(
      Math.max(backoff, (now() - (unansweredSince ?? now())) * SILENCE_BACKOFF_FACTOR),
      MAX_RETRY_INTERVAL,
    );
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await step();
        if (!signal.aborted && !pendingPush()) await sleep();
      } catch (error) {
        if (signal.aborted) return;
        // What the node runs is unknown now: it may have restarted, so the next step looks first.
        state = null;
        reportStatus((error as Error).message);
        await abortableDelay(retryDelay(), signal);
      }
    }
  }

  return { wake: () => wake(), done: run() };
}
