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
  ["a missing Lease", null, 100, 0],
  ["a released Lease", lease(""), 100, 0],
  ["the operator's own Lease", lease("me"), 100, 0],
  ["another holder's Lease that was just observed", lease("other"), 100, 15],
  ["another holder's Lease that was observed a while ago", lease("other"), 114, 1],
  ["another holder's expired Lease", lease("other"), 115, 0],
];
for (const [what, found, now, wait] of waits)
  test(`${what} may be taken ${wait === 0 ? "now" : `in ${wait} ms`}`, () => {
    assert.equal(delayUntilClaimable({ lease: found, firstSeenAt: 100 }, { me: "me", now }), wait);
  });

test("observeLease keeps the time of the first observation while the version of the Lease is the same", () => {
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
  ["of the first Lease is 1", null, 0, 1],
  ["of the operator's own Lease is unchanged", lease("me"), 0, 4],
  ["increases by one when the Lease of a former process with this identity is taken", lease("me"), 0, 5, false],
  ["increases by one when another holder's Lease is taken", lease("other"), 0, 5],
  ["increases by one when a released Lease is taken", lease(""), 0, 5],
  ["is above the highest known term, even if the Lease is missing", null, 9, 10],
  ["is above the highest known term, even if the Lease has a lower term", lease("other"), 9, 10],
  ["of the operator's own Lease increases when an equal term is known from elsewhere", lease("me"), 4, 5],
  ["of the operator's own Lease is unchanged when only a lower term is known from elsewhere", lease("me"), 3, 4],
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
