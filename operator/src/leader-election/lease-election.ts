/**
 * Leads while it holds a Lease. It is renewed again and again; when that fails for long, this process stops leading
 * before another can begin. What it pushed just then is harmless: nodes take nothing of a term that is over.
 */
import { Conflict, Fault, type LeaseRecord, type LeaseStore, orAborted, type SeenLease } from "@sluice/crds";
import type { Logger } from "pino";
import type { LeaderElectionHooks, StartLeaderElection } from "./leader-election.ts";
import {
  delayUntilClaimable,
  type LeaseObservation,
  type LeaseTiming,
  nextLeaseRecord,
  observeLease,
} from "./lease-rules.ts";

/** Milliseconds that never go back. */
export interface ElectionClock {
  now(): number;
  /** Resolves early, and never rejects, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseElectionOptions {
  /** Closed with the lead. */
  readonly store: LeaseStore;
  /** Another for all that run at a time; who is started again under the same leads again at once. */
  readonly identity: string;
  readonly timing: LeaseTiming;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: ElectionClock;
}

interface Held {
  readonly lease: SeenLease;
  /** When its last renewal was begun. */
  readonly renewedAt: number;
}

/** Milliseconds without any answer after which the Lease is not given back: whoever ends this process waits for it. */
const RELEASE_NO_ANSWER_TIMEOUT = 3500;
/** Milliseconds that one attempt to give it back may take, and that lie between two. */
const RELEASE_ATTEMPT_TIMEOUT = 1200;
const RELEASE_RETRY_INTERVAL = 250;

export function leaseElection(options: LeaseElectionOptions): StartLeaderElection {
  return (hooks) => startLeaseElection(options, hooks);
}

function startLeaseElection(
  { store, identity: me, timing, log, clock }: LeaseElectionOptions,
  { highestKnownTerm, onTerm, onReconnected }: LeaderElectionHooks,
) {
  const closing = new AbortController();
  let held: Held | null = null;
  let observation: LeaseObservation | null = null;
  let highestObservedTerm = 0;
  let reportedTerm: number | null = null;
  let lastError = "";
  /** No answer came, not even a refusal. */
  let isCutOff = false;
  let wake = new AbortController();

  function term(): number | null {
    return held && clock.now() - held.renewedAt < timing.renewDeadline ? held.lease.transitions : null;
  }

  function reportTerm(): void {
    const now = term();
    if (now === reportedTerm) return;
    if (now === null) {
      const message = "does not lead any more";
      // Who ends in order wants to lead no more.
      if (closing.signal.aborted) log.info({ term: reportedTerm }, message);
      else log.warn({ term: reportedTerm, leader: observation?.lease?.holder ?? null }, message);
    } else log.info({ term: now }, "leads from now on");
    reportedTerm = now;
    onTerm(now);
  }

  /** A call may take no longer than the time in which it is of use. */
  function timeoutSignal(milliseconds: number): AbortSignal {
    return AbortSignal.any([closing.signal, AbortSignal.timeout(Math.max(1, Math.ceil(milliseconds)))]);
  }

  async function write(record: LeaseRecord, before: SeenLease | null): Promise<void> {
    const begun = clock.now();
    const left = held ? held.renewedAt + timing.renewDeadline - begun : timing.renewDeadline;
    const lease = await store.write(record, { before, signal: timeoutSignal(left) });
    held = { lease, renewedAt: begun };
    observation = observeLease(observation, lease, begun);
  }

  async function renew({ lease }: Held): Promise<void> {
    await write(
      nextLeaseRecord(lease, {
        identity: me,
        duration: timing.duration,
        isRenewal: true,
        highestKnownTerm: highestObservedTerm,
      }),
      lease,
    );
  }

  async function tryAcquire(): Promise<void> {
    const lease = await store.read(timeoutSignal(timing.renewDeadline));
    observation = observeLease(observation, lease, clock.now());
    if (held && lease?.holder !== me) held = null;
    if (delayUntilClaimable(observation, { me, now: clock.now() }) > 0) return;
    const known = Math.max(highestObservedTerm, await orAborted(highestKnownTerm(), closing.signal));
    await write(
      nextLeaseRecord(lease, {
        identity: me,
        duration: timing.duration,
        isRenewal: held !== null,
        highestKnownTerm: known,
      }),
      lease,
    );
  }

  async function step(): Promise<void> {
    try {
      // Whoever has held it for too long without a renewal looks first who has it now.
      await (held && term() !== null ? renew(held).catch(reacquireAfterConflict) : tryAcquire());
      lastError = "";
      markReconnected();
    } catch (error) {
      if (closing.signal.aborted || error instanceof Conflict) return;
      const { message } = error as Error;
      if (message !== lastError) log.warn({ reason: message }, "cannot read or write the Lease, trying again");
      lastError = message;
      if (error instanceof Fault) markReconnected();
      else isCutOff = true;
    }
  }

  function markReconnected(): void {
    if (isCutOff) onReconnected?.();
    isCutOff = false;
  }

  /** A write whose answer was lost, or another holder: reading tells which. */
  function reacquireAfterConflict(error: unknown): Promise<void> {
    if (error instanceof Conflict) return tryAcquire();
    throw error;
  }

  /** Until the next step: sooner when the Lease can be taken sooner, or when the lead ends before. */
  function stepDelay(): number {
    if (held) return Math.min(timing.retry, Math.max(0, held.renewedAt + timing.renewDeadline - clock.now()));
    return Math.min(
      timing.retry,
      (observation && delayUntilClaimable(observation, { me, now: clock.now() })) || timing.retry,
    );
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await step();
      if (term() === null && held && clock.now() - held.renewedAt >= timing.renewDeadline) held = null;
      reportTerm();
      await clock.sleep(stepDelay(), AbortSignal.any([closing.signal, wake.signal]));
      if (wake.signal.aborted) wake = new AbortController();
    }
  }

  /**
   * Others wait until the Lease has run out otherwise, and nodes hear of nothing meanwhile. An API server that answers is
   * asked again for as long as a renewal may take, and one that does not answer for a shorter time.
   */
  async function release(): Promise<void> {
    let mine: SeenLease | null = held?.lease ?? null;
    const isHeld = mine !== null;
    held = null;
    reportTerm();
    const until = clock.now() + timing.renewDeadline;
    let answered = clock.now();
    while (isHeld) {
      const left = Math.min(until, answered + RELEASE_NO_ANSWER_TIMEOUT) - clock.now();
      const signal = AbortSignal.timeout(Math.max(1, Math.min(RELEASE_ATTEMPT_TIMEOUT, timing.retry, Math.ceil(left))));
      try {
        mine ??= await store.read(signal);
        if (mine?.holder === me) await store.write({ ...mine, holder: "" }, { before: mine, signal });
        return;
      } catch (error) {
        // What had no answer, or the renewal that was cut off, may have come through.
        mine = null;
        if (error instanceof Conflict || error instanceof Fault) answered = clock.now();
        if (clock.now() + RELEASE_RETRY_INTERVAL >= Math.min(until, answered + RELEASE_NO_ANSWER_TIMEOUT)) {
          const { message } = error as Error;
          log.warn({ reason: message }, "cannot give the Lease back: others will wait until it has run out");
          return;
        }
        await clock.sleep(RELEASE_RETRY_INTERVAL, new AbortController().signal);
      }
    }
  }

  const done = run();
  return {
    term,
    leader: () => observation?.lease?.holder || null,
    observeTerm(other: number) {
      if (other < highestObservedTerm) return;
      highestObservedTerm = other;
      wake.abort();
    },
    async close() {
      closing.abort();
      await done;
      await release();
      await store.close();
    },
  };
}
