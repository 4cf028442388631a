/**
 * This process leads while it holds a Lease, which it renews periodically. When renewals fail for too long, it stops
 * leading before another process can begin. A push that is still under way then is harmless: once nodes know the term
 * of the next leader, they reject pushes of an earlier term.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  ApiServerError,
  Conflict,
  createLeaseStore,
  delayUntilClaimable,
  type LeaseObservation,
  type LeaseRecord,
  type LeaseStore,
  type LeaseTiming,
  nextLeaseRecord,
  observeLease,
  READS_ANNOTATION,
  rejectOnAbort,
  releasedLeaseRecord,
  type VersionedLease,
} from "@sluice/crds";
import { CLASS_LABEL } from "@sluice/model";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import type { OperatorSettings } from "../settings.ts";
import { leaseTiming, ownObjectName, readsAllNamespaces } from "../start-checks.ts";
import { type LeaderElectionHooks, type StartLeaderElection, soleLeader } from "./leader-election.ts";

/** A monotonic clock that counts milliseconds. */
export interface ElectionClock {
  now(): number;
  /** Resolves early, and never rejects, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseElectionOptions {
  /** Closed together with the election. */
  readonly store: LeaseStore;
  /** Unique among running processes. A process that restarts under the same identity leads again at once. */
  readonly identity: string;
  readonly timing: LeaseTiming;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: ElectionClock;
}

interface Held {
  readonly lease: VersionedLease;
  /** When the last renewal was started. */
  readonly renewedAt: number;
}

/** Shutdown waits for `close`, so `close` gives up the release after this many milliseconds without any response. */
const RELEASE_NO_ANSWER_TIMEOUT = 3500;
/**
 * Milliseconds for which an attempt to release is awaited before the next one, because the connection of the attempt
 * may be dead. An unanswered attempt continues during the next ones, because the API server may only be slow.
 */
const RELEASE_ATTEMPT_INTERVAL = 1200;
/** Milliseconds of pause before the next attempt, after an attempt to release failed or was not answered in time. */
const RELEASE_RETRY_INTERVAL = 250;

/** Whether the error is a response of the API server. Any other error means that there was no response. */
const isAnswer = (error: unknown) => error instanceof Conflict || error instanceof ApiServerError;

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
  /** Whether the last call got no response at all, not even an error. */
  let isCutOff = false;
  /** When the last write began, if no response to it was received: the API server may have accepted it. */
  let unansweredSince: number | null = null;
  let wake = new AbortController();

  function term(): number | null {
    return held && clock.now() - held.renewedAt < timing.renewDeadline ? held.lease.transitions : null;
  }

  function reportTerm(): void {
    const now = term();
    if (now === reportedTerm) return;
    if (now === null) {
      const message = "stopped leading";
      // Losing leadership is expected during shutdown.
      if (closing.signal.aborted) log.info({ term: reportedTerm }, message);
      else log.warn({ term: reportedTerm, leader: observation?.lease?.holder ?? null }, message);
    } else log.info({ term: now }, "started leading");
    reportedTerm = now;
    onTerm(now);
  }

  /** A signal that aborts a call on close or after this time, when the result of the call is no longer useful. */
  function timeoutSignal(milliseconds: number): AbortSignal {
    return AbortSignal.any([closing.signal, AbortSignal.timeout(Math.max(1, Math.ceil(milliseconds)))]);
  }

  async function write(record: LeaseRecord, before: VersionedLease | null): Promise<void> {
    const begun = clock.now();
    const left = held ? held.renewedAt + timing.renewDeadline - begun : timing.renewDeadline;
    unansweredSince = begun;
    const lease = await store.write(record, { before, signal: timeoutSignal(left) }).catch((error) => {
      if (isAnswer(error)) unansweredSince = null;
      throw error;
    });
    unansweredSince = null;
    held = { lease, renewedAt: begun };
    observation = observeLease(observation, lease, begun);
  }

  async function claim(lease: VersionedLease | null, isRenewal: boolean, highestKnownTerm: number): Promise<void> {
    const { duration } = timing;
    await write(nextLeaseRecord(lease, { identity: me, duration, isRenewal, highestKnownTerm }), lease);
  }

  async function tryAcquire(): Promise<void> {
    const lease = await store.read(timeoutSignal(timing.renewDeadline));
    observation = observeLease(observation, lease, clock.now());
    if (held && lease?.holder !== me) held = null;
    if (delayUntilClaimable(observation, { me, now: clock.now() }) > 0) return;
    const known = Math.max(highestObservedTerm, await rejectOnAbort(highestKnownTerm(), closing.signal));
    await claim(lease, held !== null, known);
  }

  async function step(): Promise<void> {
    try {
      // If the Lease was held for too long without renewal, first read which process holds it now.
      if (held && term() !== null) await claim(held.lease, true, highestObservedTerm).catch(reacquireAfterConflict);
      else await tryAcquire();
      lastError = "";
      markReconnected();
    } catch (error) {
      if (closing.signal.aborted || error instanceof Conflict) return;
      const { message } = error as Error;
      if (message !== lastError) log.warn({ reason: message }, "cannot read or write the Lease, trying again");
      lastError = message;
      if (isAnswer(error)) markReconnected();
      else isCutOff = true;
    }
  }

  function markReconnected(): void {
    if (isCutOff) onReconnected?.();
    isCutOff = false;
  }

  /** After a conflict, reads the Lease: either the response to a write was lost, or there is another holder. */
  function reacquireAfterConflict(error: unknown): Promise<void> {
    if (error instanceof Conflict) return tryAcquire();
    throw error;
  }

  /** Milliseconds until the next step: the retry interval, unless the Lease becomes free or leadership ends sooner. */
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
   * Releases the Lease, even if no response to the claim was received. Otherwise other operators wait until it
   * expires, and nodes get no changes until then. While the API server answers, attempts continue for as long as a
   * renewal may take; while it does not, for a shorter time.
   */
  async function release(): Promise<void> {
    let mine: VersionedLease | null = held?.lease ?? null;
    const mayHold = mine !== null || (unansweredSince !== null && clock.now() - unansweredSince < timing.duration);
    held = null;
    reportTerm();
    if (!mayHold) return;
    const ended = new AbortController();
    const until = clock.now() + timing.renewDeadline;
    let answered = clock.now();
    let reason = "";
    const left = () => Math.min(until, answered + RELEASE_NO_ANSWER_TIMEOUT) - clock.now();
    while (!ended.signal.aborted && left() > 0) {
      const failed = new AbortController();
      tryRelease(mine, ended.signal).then(
        () => ended.abort(),
        (error: Error) => {
          if (isAnswer(error)) answered = clock.now();
          reason = error.message;
          failed.abort();
        },
      );
      await clock.sleep(Math.min(RELEASE_ATTEMPT_INTERVAL, left()), AbortSignal.any([ended.signal, failed.signal]));
      await clock.sleep(Math.max(0, Math.min(RELEASE_RETRY_INTERVAL, left())), ended.signal);
      // An unanswered write, such as the aborted renewal, may have succeeded: the next attempt reads the Lease.
      mine = null;
    }
    if (ended.signal.aborted) return;
    ended.abort();
    log.warn({ reason }, "cannot release the Lease: another operator has to wait until it expires");
  }

  /** Releases the Lease if this process holds it. If `known` is null, the Lease is read first. */
  async function tryRelease(known: VersionedLease | null, signal: AbortSignal): Promise<void> {
    const lease = known ?? (await store.read(signal));
    if (lease?.holder === me) await store.write(releasedLeaseRecord(lease), { before: lease, signal });
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

/**
 * The leader election that the settings ask for: by a Lease in a cluster; none for a directory, whose single operator
 * leads.
 *
 * @throws SettingsError, KubeconfigError
 */
export function configuredElection(settings: OperatorSettings, log: Logger): StartLeaderElection {
  if (settings.directory !== null) return soleLeader;
  return leaseElection({
    store: createLeaseStore({
      namespace: settings.homeNamespace,
      name: ownObjectName(settings),
      marks: {
        labels: { [CLASS_LABEL]: settings.class },
        annotations: { [READS_ANNOTATION]: readsAllNamespaces(settings) ? "all" : "some" },
      },
    }),
    identity: settings.identity ?? `${hostname()}_${randomUUID()}`,
    timing: leaseTiming(settings),
    log,
    clock: { now: () => performance.now(), sleep: abortableDelay },
  });
}
