/**
 * Keeps one node on the newest document. The loop pushes as soon as there is a newer document. It polls the node in
 * between, because a restarted node may lack a document, and retries while the node is silent. While another operator
 * leads, it only polls.
 */
import type { NodeReport } from "@sluice/model";
import { abortableDelay } from "../abortable-delay.ts";
import { type NodeClient, PushRefusedError } from "./node-client.ts";
import type { PublishedSnapshot, PublishHistory } from "./publish-history.ts";
import { sharedChange, sharedDocument } from "./push-content.ts";
import type { PushLimiter } from "./push-limiter.ts";

export type PushOutcome = "acknowledged" | "refused" | "failed";

/** The operator's knowledge of a node. Times are milliseconds of a monotonic clock. */
export interface NodeStatus {
  readonly address: string;
  readonly state: NodeReport | null;
  /** When the node last answered; null: it never has. */
  readonly lastAnswerAt: number | null;
  /**
   * The time since which a request has been unanswered; null: no request is unanswered. Waiting in the push limiter
   * does not count, except for a node that left the last full document unanswered: otherwise such a node would count as
   * answering between two attempts.
   */
  readonly unansweredSince: number | null;
  /** Why the last push or poll failed; null when it did not. */
  readonly lastError: string | null;
  /** The last connection was refused: no process listens on the address. */
  readonly isRefusing: boolean;
}

export interface NodeLoopOptions {
  readonly address: string;
  readonly client: NodeClient;
  readonly history: PublishHistory;
  /** Shared by all nodes. */
  readonly limiter: PushLimiter;
  readonly term: () => number | null;
  readonly signal: AbortSignal;
  readonly onStatus: (view: NodeStatus) => void;
  readonly onPush?: (outcome: PushOutcome, seconds: number) => void;
  /** Milliseconds until the next poll of a node that has the newest document. Default 500. */
  readonly pollInterval?: () => number;
  /**
   * Milliseconds until the next attempt after a first failure. Default 200. The delay doubles with each failed push. It
   * is at least an eighth of the time for which the node has not answered, and at most 5 s.
   */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

const MAX_RETRY_INTERVAL = 5000;
/**
 * Milliseconds of waiting in the push limiter after which a node is polled before the push. A node that died while it
 * waited would occupy its place until the push times out; a poll times out ten times as fast.
 */
const STATE_MAX_AGE = 2000;
/** Milliseconds after which a failed push counts as unanswered. Error responses arrive sooner. */
const SLOW_PUSH = 2000;
/** The retry delay is at least this fraction of the time for which the node has not answered. */
const SILENCE_BACKOFF_FACTOR = 1 / 8;

export function runNodeLoop(options: NodeLoopOptions) {
  const { address, client, history, limiter, term, signal, onStatus, onPush, now = () => performance.now() } = options;
  const { pollInterval = () => 500, retryInterval = 200 } = options;
  let state: NodeReport | null = null;
  let lastAnswerAt: number | null = null;
  let unansweredSince: number | null = now();
  /** Ends the sleep in progress. */
  let wake = () => {};
  /**
   * A document that the node refuses, and why. Sending it again would only repeat the answer; a new process may accept
   * it.
   */
  let refusal: { readonly hash: string; readonly node: string | undefined; readonly reason: string } | null = null;
  let failedPushes = 0;
  /** Whether the node left the last full document unanswered. */
  let leftUnanswered = false;

  signal.addEventListener("abort", () => wake(), { once: true });

  /** Sleeps until the next poll or wake-up. Called only when no push is pending. */
  const sleep = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(() => wake(), pollInterval());
      wake = () => {
        clearTimeout(timer);
        wake = () => {};
        resolve();
      };
    });

  const reportStatus = (lastError: string | null, isRefusing = false) =>
    onStatus({ address, state, lastAnswerAt, unansweredSince, lastError, isRefusing });
  function markAnswered(): void {
    lastAnswerAt = now();
    unansweredSince = null;
  }
  /** Called before a request: silence counts from here. */
  function markAsked(): void {
    if (unansweredSince !== null) return;
    unansweredSince = now();
    const target = history.latest();
    reportStatus(target ? refusalReason(target) : null);
  }
  const refusalReason = ({ snapshot }: PublishedSnapshot) =>
    refusal?.hash === snapshot.hash && refusal.node === state?.node ? refusal.reason : null;

  /**
   * Null when no push is due: there is no document, this operator does not lead, the node refuses the newest document,
   * or the node runs it and knows this term.
   */
  function pendingPush() {
    const target = history.latest();
    const ours = term();
    if (!target || ours === null || refusalReason(target) !== null) return null;
    // Until the node knows this term, it would accept a push of an operator that led before.
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

  /** Evaluates the response to a push; undefined: the node does not run the base of the change. */
  async function settlePush(
    target: PublishedSnapshot,
    pushed: Promise<NodeReport | "stale">,
  ): Promise<PushOutcome | undefined> {
    const node = state?.node;
    const refuse = (reason: string) => {
      refusal = { hash: target.snapshot.hash, node, reason };
    };
    let outcome: PushOutcome | undefined = "acknowledged";
    try {
      const answer = await pushed;
      // The node does not run the document that it reported; which one it runs is unknown.
      state = answer === "stale" ? state && { ...state, hash: null } : answer;
      if (answer === "stale") outcome = undefined;
      else if (answer.hash !== target.snapshot.hash) {
        outcome = "refused";
        refuse(`computes another hash for revision ${target.revision}: it runs another version (${answer.version})`);
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

  /**
   * Pushes the change from the document that the node reported; undefined when that document is not in the history, or
   * the node no longer runs it.
   */
  async function pushChange({
    target,
    term,
  }: NonNullable<ReturnType<typeof pendingPush>>): Promise<PushOutcome | undefined> {
    const { revision, snapshot } = target;
    const base = state?.hash ? history.byHash(state.hash) : undefined;
    if (!base) return undefined;
    const change = sharedChange(base.snapshot, snapshot);
    markAsked();
    return settlePush(target, client.patch({ term, revision, base: base.snapshot.hash, change }));
  }

  /** Pushes the full document that is newest when the limiter admits the node; undefined: no push is due by then. */
  function pushFullDocument(): Promise<PushOutcome | undefined> {
    const since = now();
    if (leftUnanswered) markAsked();
    return (leftUnanswered ? limiter.retry : limiter.regular)(async () => {
      if (signal.aborted) return undefined;
      if (now() - since > STATE_MAX_AGE) await poll();
      const pending = pendingPush();
      if (!pending) return undefined;
      const { target, term } = pending;
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
    const pending = state && pendingPush();
    if (!pending) return poll();
    const started = performance.now();
    let outcome: PushOutcome | undefined = "failed";
    try {
      outcome = (await pushChange(pending)) ?? (await pushFullDocument());
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
        // The node may have restarted, so its document is unknown, and the next step polls first.
        state = null;
        const { message, code } = error as NodeJS.ErrnoException;
        reportStatus(message, code === "ECONNREFUSED");
        await abortableDelay(retryDelay(), signal);
      }
    }
  }

  return {
    /**
     * Ends the wait for the next poll, because there is a newer document or term, or because the node may be a new
     * process. A push in progress and the delay after a failure are not cut short.
     */
    wake: () => wake(),
    done: run(),
  };
}

export type NodeLoop = ReturnType<typeof runNodeLoop>;
