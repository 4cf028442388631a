/**
 * The rules by which processes share a Lease: leader election and the mutex of admin writers. Pure: times are
 * milliseconds of a local clock. They are never compared with another machine's clock, so that clock skew has no
 * effect.
 */
import type { LeaseRecord, VersionedLease } from "../resource.ts";

export interface LeaseTiming {
  /** After this long without renewal, another process may take the Lease. */
  readonly duration: number;
  /** After this long without renewal, the holder must stop acting as the holder; shorter than `duration`. */
  readonly renewDeadline: number;
  /** Between two renewals and, in leader election, between two reads; shorter than `renewDeadline`. */
  readonly retry: number;
}

/** The result of reading the Lease. */
export interface LeaseObservation {
  /** Null: there is no Lease. */
  readonly lease: VersionedLease | null;
  /** When this version was first observed. */
  readonly firstSeenAt: number;
}

/** The observation of a Lease that was just read. If the version is the same as in `before`, so is the time. */
export function observeLease(
  before: LeaseObservation | null,
  lease: VersionedLease | null,
  now: number,
): LeaseObservation {
  const isSame = before !== null && before.lease?.version === lease?.version;
  return { lease, firstSeenAt: isSame ? before.firstSeenAt : now };
}

/**
 * Milliseconds until the Lease may be taken; 0: now. A Lease with this identity is taken at once: this process holds
 * it, or a dead process with the same identity left it.
 */
export function delayUntilClaimable(
  { lease, firstSeenAt }: LeaseObservation,
  { me, now }: { readonly me: string; readonly now: number },
): number {
  if (!lease || lease.holder === "" || lease.holder === me) return 0;
  return Math.max(0, firstSeenAt + lease.duration - now);
}

/**
 * The record to write when the Lease is taken or renewed. Its `transitions` is the holder's term. The term grows
 * with every process that takes the Lease. The new term is also higher than any term known from elsewhere, because the
 * Lease may have been deleted.
 *
 * @param isRenewal Whether this very process holds the Lease.
 * @param highestKnownTerm The highest term that is known from elsewhere.
 */
export function nextLeaseRecord(
  lease: VersionedLease | null,
  { identity, duration, isRenewal, highestKnownTerm }: LeaseClaim,
): LeaseRecord {
  const before = lease?.transitions ?? 0;
  const isSameTerm = isRenewal && lease?.holder === identity && before > highestKnownTerm;
  return { holder: identity, duration, transitions: isSameTerm ? before : Math.max(before, highestKnownTerm) + 1 };
}

interface LeaseClaim {
  readonly identity: string;
  readonly duration: number;
  readonly isRenewal: boolean;
  readonly highestKnownTerm: number;
}

/** The record to write when the holder releases the Lease: other processes may take it at once. */
export const releasedLeaseRecord = ({ duration, transitions }: LeaseRecord): LeaseRecord => ({
  holder: "",
  duration,
  transitions,
});
