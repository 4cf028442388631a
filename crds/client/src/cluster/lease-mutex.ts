/**
 * A mutex across processes, based on a Lease. The holder keeps the Lease for a moment after a write, so that its next
 * write needs no request for the Lease, and releases it when idle. The Lease of a dead holder expires.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Conflict, type LeaseStore, type MutexHold, type VersionedLease } from "../resource.ts";
import {
  delayUntilClaimable,
  type LeaseObservation,
  type LeaseTiming,
  nextLeaseRecord,
  observeLease,
  releasedLeaseRecord,
} from "./lease-rules.ts";
import type { Clock } from "./watch/reflector.ts";

export interface LeaseMutexOptions {
  /** The mutex does not close the store. */
  readonly store: Pick<LeaseStore, "read" | "write">;
  /** The Lease's namespace and name, for errors. */
  readonly name: string;
  readonly clock: Clock;
}

export type LeaseMutex = ReturnType<typeof createLeaseMutex>;

/**
 * Clients of the admin API, such as decK, usually time out after 10 s: a write that waits for a dead writer's Lease
 * must complete within that time.
 */
const timing: LeaseTiming = { duration: 5000, renewDeadline: 2500, retry: 1250 };
/** Milliseconds for which an idle process keeps the Lease. */
const idle = 500;
/** Milliseconds after which other processes get the Lease, however many writes wait in this process. */
const maxHold = 2000;
const yieldPause = 100;
const pollInterval = 50;
/** Milliseconds; longer than the Lease of a dead holder lasts. */
const acquireTimeout = timing.duration + 10_000;

interface Held {
  readonly lease: VersionedLease;
  readonly since: number;
  /** Time of the last renewal on this process's clock. */
  readonly renewed: number;
}

export function createLeaseMutex({ store, name, clock }: LeaseMutexOptions) {
  const identity = `${hostname()}_${randomUUID()}`;
  const closing = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let held: Held | undefined;
  /** The version of the Lease after its last release by this process; undefined if there was none, or if it failed. */
  let released: string | undefined;
  let resting: NodeJS.Timeout | undefined;

  const isHeld = (): boolean => held !== undefined && clock.now() - held.renewed < timing.renewDeadline;

  const write = (before: VersionedLease | null, isRenewal: boolean): Promise<VersionedLease> =>
    store.write(nextLeaseRecord(before, { identity, duration: timing.duration, isRenewal, highestKnownTerm: 0 }), {
      before,
    });

  /**
   * Waits until the Lease is free and acquires it. True if another process may have held it since this process last
   * held it.
   */
  async function acquire(): Promise<boolean> {
    const began = clock.now();
    let observation: LeaseObservation | null = null;
    for (;;) {
      const lease = await store.read();
      const now = clock.now();
      observation = observeLease(observation, lease, now);
      if (delayUntilClaimable(observation, { me: identity, now }) === 0) {
        try {
          held = { lease: await write(lease, false), since: now, renewed: now };
          return !lease || lease.version !== released;
        } catch (error) {
          // Another process was faster.
          if (!(error instanceof Conflict)) throw error;
        }
      } else if (now - began > acquireTimeout) {
        throw new Error(`the Lease ${name} is not free after ${acquireTimeout / 1000} s: ${lease?.holder} holds it`);
      }
      closing.signal.throwIfAborted();
      await clock.sleep(pollInterval * (0.5 + clock.random()), closing.signal);
    }
  }

  /** After the Lease is lost, writes in progress continue: each has a precondition on the version of its object. */
  async function renew(): Promise<void> {
    const before = held;
    if (!before) return;
    const now = clock.now();
    const lease = await write(before.lease, true).catch(() => undefined);
    if (held === before) held = lease && { ...before, lease, renewed: now };
  }

  async function release(): Promise<void> {
    const before = held;
    held = undefined;
    const left = before && store.write(releasedLeaseRecord(before.lease), { before: before.lease });
    released = (await left?.catch(() => undefined))?.version;
  }

  async function turn(): Promise<MutexHold> {
    if (isHeld()) return { othersMayHaveWritten: false, isHeld };
    held = undefined;
    return { othersMayHaveWritten: await acquire(), isHeld };
  }

  async function releaseOrLinger(): Promise<void> {
    if (held && clock.now() - held.since > maxHold) {
      await release();
      if (waiting > 0) await clock.sleep(yieldPause, closing.signal);
    } else if (waiting === 0) {
      resting = setTimeout(() => {
        last = last.then(() => (waiting === 0 ? release() : undefined));
      }, idle);
      resting.unref();
    }
  }

  return {
    run<Result>(run: (hold: MutexHold) => Promise<Result>): Promise<Result> {
      waiting++;
      clearTimeout(resting);
      const mine = last.then(async () => {
        let renewing: NodeJS.Timeout | undefined;
        try {
          const taken = await turn();
          renewing = setInterval(() => void renew(), timing.retry);
          return await run(taken);
        } finally {
          clearInterval(renewing);
          waiting--;
        }
      });
      last = mine.then(releaseOrLinger, releaseOrLinger);
      return mine;
    },
    /** Releases the Lease once all runs requested so far have ended. */
    async close(): Promise<void> {
      clearTimeout(resting);
      closing.abort();
      await last;
      await release();
    },
  };
}
