/**
 * Who leads, decided from what a Lease says. Pure: times are milliseconds of a clock of one's own, which is never
 * compared with another machine's, so that clocks that are wrong change nothing.
 */
import type { LeaseRecord, SeenLease } from "@sluice/crds";

export interface LeaseTiming {
  /** After this long without a renewal others may take the Lease. */
  readonly duration: number;
  /** After this long without a renewal who leads stops; shorter than `duration`. */
  readonly renewDeadline: number;
  /** Between two looks, and between two renewals; shorter than `renewDeadline`. */
  readonly retry: number;
}

/** What a look at the Lease has shown. */
export interface LeaseObservation {
  /** Null: there is no Lease. */
  readonly lease: SeenLease | null;
  /** When this version of it was seen first. */
  readonly firstSeenAt: number;
}

/** Keeps the time at which a version was seen first. */
export function observeLease(before: LeaseObservation | null, lease: SeenLease | null, now: number): LeaseObservation {
  const isSame = before !== null && before.lease?.version === lease?.version;
  return { lease, firstSeenAt: isSame ? before.firstSeenAt : now };
}

/**
 * Milliseconds until the Lease may be taken; 0: now. A Lease of one's own name is taken at once: it is only renewed, or
 * was left by a process of this name that has died.
 */
export function delayUntilClaimable(
  { lease, firstSeenAt: since }: LeaseObservation,
  { me: identity, now }: { readonly me: string; readonly now: number },
): number {
  if (!lease || lease.holder === "" || lease.holder === identity) return 0;
  return Math.max(0, since + lease.duration - now);
}

/**
 * What the Lease is to say when it is taken or renewed. The number of transitions is the term: it grows with every
 * process that takes it, and is never as low as one that is known from elsewhere, though somebody may have removed the Lease.
 *
 * @param renews Whether this very process holds it.
 * @param floor The highest term that is known from elsewhere.
 */
export function nextLeaseRecord(
  lease: SeenLease | null,
  { identity: me, duration, isRenewal: renews, highestKnownTerm: floor }: LeaseClaim,
): LeaseRecord {
  const before = lease?.transitions ?? 0;
  const isMine = renews && lease?.holder === me && before > floor;
  return { holder: me, duration, transitions: isMine ? before : Math.max(before, floor) + 1 };
}

interface LeaseClaim {
  readonly identity: string;
  readonly duration: number;
  readonly isRenewal: boolean;
  readonly highestKnownTerm: number;
}
