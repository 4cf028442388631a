import assert from "node:assert/strict";
import { test } from "node:test";
import type { VersionedLease } from "../resource.ts";
import { delayUntilClaimable, nextLeaseRecord, observeLease, releasedLeaseRecord } from "./lease-rules.ts";

const lease = (holder: string, transitions = 4): VersionedLease => ({
  version: "1",
  holder,
  duration: 15,
  transitions,
});

const waits: readonly (readonly [what: string, lease: VersionedLease | null, now: number, wait: number])[] = [
  ["no Lease", null, 100, 0],
  ["one that was given back", lease(""), 100, 0],
  ["one's own", lease("me"), 100, 0],
  ["another's that was just seen", lease("other"), 100, 15],
  ["another's that was seen a while ago", lease("other"), 114, 1],
  ["another's that has run out", lease("other"), 115, 0],
];
for (const [what, found, now, wait] of waits)
  test(`${what} may be taken ${wait === 0 ? "now" : `in ${wait} ms`}`, () => {
    assert.equal(delayUntilClaimable({ lease: found, firstSeenAt: 100 }, { me: "me", now }), wait);
  });

test("a Lease expires relative to its first observation, and again after each renewal", () => {
  const first = observeLease(null, lease("other"), 100);
  assert.equal(observeLease(first, lease("other"), 110).firstSeenAt, 100);
  assert.equal(observeLease(first, { ...lease("other"), version: "2" }, 110).firstSeenAt, 110);
  assert.equal(observeLease(first, null, 110).firstSeenAt, 110);
});

const terms: readonly (readonly [
  what: string,
  lease: VersionedLease | null,
  floor: number,
  term: number,
  held?: false,
])[] = [
  ["of a first Lease is 1", null, 0, 1],
  ["of one's own stays", lease("me"), 0, 4],
  ["of one that a process of this name has left is the next", lease("me"), 0, 5, false],
  ["of another's is the next", lease("other"), 0, 5],
  ["of one that was given back is the next", lease(""), 0, 5],
  ["is above what is known from elsewhere, though there is no Lease", null, 9, 10],
  ["is above what is known from elsewhere, though the Lease says less", lease("other"), 9, 10],
  ["of one's own grows when a later one is known", lease("me"), 4, 5],
  ["of one's own stays when an earlier one is known", lease("me"), 3, 4],
];
for (const [what, found, floor, term, renews = true] of terms)
  test(`the term ${what}`, () => {
    assert.deepEqual(
      nextLeaseRecord(found, { identity: "me", duration: 15, isRenewal: renews, highestKnownTerm: floor }),
      {
        holder: "me",
        duration: 15,
        transitions: term,
      },
    );
  });

test("a released Lease may be taken at once, and keeps its term", () => {
  const released = { ...releasedLeaseRecord(lease("other")), version: "2" };
  assert.equal(delayUntilClaimable(observeLease(null, released, 100), { me: "me", now: 100 }), 0);
  assert.equal(released.transitions, 4);
});
