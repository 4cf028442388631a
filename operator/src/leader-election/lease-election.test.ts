import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ApiServerError, Conflict } from "@sluice/crds";
import type { LeaderElection } from "./leader-election.ts";
import { leaseElection } from "./lease-election.ts";
import { testClock, testLease } from "./testing-lease.ts";

const timing = { duration: 15_000, renewDeadline: 10_000, retry: 2000 };

function scene(t: TestContext) {
  const clock = testClock();
  const shared = testLease();
  const warnings: string[] = [];
  const log = { info() {}, warn: (_details: object, message?: string) => void warnings.push(message ?? "") };
  const all: LeaderElection[] = [];
  const stores: ReturnType<typeof shared.store>[] = [];
  t.after(() => {
    // The clock no longer advances, so a close() that waits for an API server would not end.
    for (const store of stores) store.hangs = false;
    return Promise.all(all.map((lead) => lead.close()));
  });
  return {
    clock,
    shared,
    warnings,
    leaders: () => all.filter((lead) => lead.term() !== null).length,
    start(me: string, floor = 0) {
      const store = shared.store();
      stores.push(store);
      const terms: (number | null)[] = [];
      const reached: number[] = [];
      const lead = leaseElection({ store, identity: me, timing, log, clock })({
        highestKnownTerm: async () => floor,
        onTerm: (term) => void terms.push(term),
        onReconnected: () => void reached.push(clock.now()),
      });
      all.push(lead);
      return { lead, store, terms, reached };
    },
  };
}

test("the first operator leads, and the second waits and knows the leader", async (t) => {
  const { clock, start } = scene(t);
  const one = start("one");
  await clock.pass(0);
  const two = start("two");
  await clock.pass(60_000);
  assert.equal(one.lead.term(), 1);
  assert.equal(two.lead.term(), null);
  assert.equal(two.lead.leader(), "one");
  assert.deepEqual([one.terms, two.terms], [[1], []]);
});

test("a closing leader releases the Lease, and another operator leads after its next read of the Lease", async (t) => {
  const { clock, start, shared } = scene(t);
  const [one, two] = [start("one"), start("two")];
  await clock.pass(7000);
  await one.lead.close();
  assert.equal(shared.lease?.holder, "");
  assert.equal(one.lead.term(), null);
  await clock.pass(2000);
  assert.equal(two.lead.term(), 2);
});

test("a leader that closes during an API server outage releases the Lease once the server answers", async (t) => {
  const { clock, start, shared, warnings } = scene(t);
  const one = start("one");
  await clock.pass(7000);
  one.store.fails = new Error("socket hang up");
  const closed = one.lead.close();
  await clock.pass(2000);
  assert.equal(shared.lease?.holder, "one");
  one.store.fails = null;
  await clock.pass(1000);
  await closed;
  assert.equal(shared.lease?.holder, "");
  assert.deepEqual(warnings, []);
});

test("an operator that closes before its claim is answered releases the Lease if the API server accepted the claim", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one");
  one.store.losesResponses = true;
  await clock.pass(0);
  assert.equal(shared.lease?.holder, "one");
  assert.equal(one.lead.term(), null);
  one.store.losesResponses = false;
  await one.lead.close();
  assert.equal(shared.lease?.holder, "");
});

test("a closing leader releases the Lease when the API server answers after 3 s, although further attempts have begun", async (t) => {
  const { clock, start, shared, warnings } = scene(t);
  const one = start("one");
  await clock.pass(7000);
  one.store.hangs = true;
  const closed = one.lead.close();
  await clock.pass(3000);
  assert.equal(shared.lease?.holder, "one");
  one.store.hangs = false;
  await closed;
  assert.equal(shared.lease?.holder, "");
  assert.deepEqual(warnings, []);
});

test("a closing leader does not release a Lease that another operator has taken over", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one");
  await clock.pass(7000);
  one.store.fails = new Error("socket hang up");
  const closed = one.lead.close();
  await clock.pass(100);
  shared.put({ holder: "two", duration: 15_000, transitions: 2 });
  one.store.fails = null;
  await clock.pass(1000);
  await closed;
  assert.equal(shared.lease?.holder, "two");
});

for (const [what, failure, seconds] of [
  ["gets no response", "hangs", 4],
  ["gets no connection", new Error("socket hang up"), 4],
  ["gets only error responses", new ApiServerError(503, {}), 11],
  ["gets a conflict each time", new Conflict("changed", "another writer was first"), 11],
] as const)
  test(`a closing leader that ${what} gives up releasing the Lease after ${seconds} s at most, and logs that`, async (t) => {
    const { clock, start, shared, warnings } = scene(t);
    const one = start("one");
    await clock.pass(7000);
    if (failure === "hangs") one.store.hangs = true;
    else one.store.fails = failure;
    const closed = one.lead.close().then(() => "closed");
    await clock.pass(seconds * 1000);
    assert.equal(await Promise.race([closed, new Promise((resolve) => setImmediate(resolve, "not closed"))]), "closed");
    assert.equal(shared.lease?.holder, "one");
    assert.deepEqual(warnings, ["cannot release the Lease: another operator has to wait until it expires"]);
  });

test("after the leader's death, another operator leads only once the Lease has expired", async (t) => {
  const { clock, start } = scene(t);
  const [one, two] = [start("one"), start("two")];
  await clock.pass(20_500);
  one.store.hangs = true;
  // The follower saw the last renewal at most 2 s after it was made.
  await clock.pass(12_500);
  assert.equal(two.lead.term(), null);
  await clock.pass(4500);
  assert.equal(two.lead.term(), 2);
});

test("a leader and a follower report when the API server answers again", async (t) => {
  const { clock, start } = scene(t);
  const [one, two] = [start("one"), start("two")];
  await clock.pass(4000);
  assert.deepEqual([one.reached, two.reached], [[], []]);
  // Like an ApiServerError, a TimeoutError has a numeric code.
  const noAnswers = [new Error("socket hang up"), new DOMException("aborted due to timeout", "TimeoutError")];
  for (const [index, noAnswer] of noAnswers.entries()) {
    for (const { store } of [one, two]) store.fails = noAnswer;
    await clock.pass(4000);
    for (const { store } of [one, two]) store.fails = null;
    await clock.pass(4000);
    assert.deepEqual([one.reached.length, two.reached.length], [index + 1, index + 1], noAnswer.message);
  }
  for (const { store } of [one, two]) store.fails = new ApiServerError(429, {});
  await clock.pass(4000);
  for (const { store } of [one, two]) store.fails = null;
  await clock.pass(4000);
  assert.deepEqual([one.reached.length, two.reached.length], [2, 2], "a refusal counts as a response");
});

test("a leader that cannot renew the Lease stops leading before another operator can lead, and then follows that operator", async (t) => {
  const { clock, start, leaders, warnings } = scene(t);
  const [one, two] = [start("one"), start("two")];
  await clock.pass(4000);
  one.store.fails = new Error("leases is forbidden: cannot patch");
  const seen = new Set<number>();
  for (let step = 0; step < 200; step++) {
    await clock.pass(100);
    seen.add(leaders());
  }
  assert.deepEqual([...seen].sort(), [0, 1], "the number of leaders was always 0 or 1");
  assert.deepEqual(one.terms, [1, null]);
  assert.equal(two.lead.term(), 2);
  assert.deepEqual(warnings, ["cannot read or write the Lease, trying again", "stopped leading"]);
  one.store.fails = null;
  await clock.pass(60_000);
  assert.equal(one.lead.leader(), "two");
  assert.deepEqual([one.lead.term(), two.lead.term()], [null, 2]);
});

test("a leader stops leading at its next renewal after another holder was written into the Lease", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one");
  await clock.pass(3000);
  shared.put({ holder: "thief", duration: 15_000, transitions: 2 });
  await clock.pass(2000);
  assert.deepEqual(one.terms, [1, null]);
  assert.equal(one.lead.leader(), "thief");
  await clock.pass(17_000);
  assert.deepEqual(one.terms, [1, null, 3], "the other holder never renewed the Lease");
});

test("a process that was suspended for a long time does not lead when it resumes", async (t) => {
  const { clock, start } = scene(t);
  const one = start("one");
  await clock.pass(0);
  one.store.hangs = true;
  assert.equal(one.lead.term(), 1);
  await clock.pass(10_000);
  assert.equal(one.lead.term(), null);
});

test("a deleted Lease is recreated with a higher term", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one", 6);
  await clock.pass(3000);
  assert.equal(one.lead.term(), 7);
  shared.put(null);
  one.lead.observeTerm(7);
  await clock.pass(3000);
  assert.equal(one.lead.term(), 8);
  assert.equal(shared.lease?.holder, "one");
});

test("a higher term that a node has seen raises the term once and without delay", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one");
  await clock.pass(0);
  one.lead.observeTerm(5);
  one.lead.observeTerm(5);
  one.lead.observeTerm(3);
  await clock.pass(0);
  assert.equal(one.lead.term(), 6);
  assert.equal(shared.lease?.transitions, 6);
  await clock.pass(20_000);
  assert.deepEqual(one.terms, [1, 6]);
});

test("a renewal whose response was lost does not change the term", async (t) => {
  const { clock, start, shared } = scene(t);
  const one = start("one");
  await clock.pass(1000);
  const { lease } = shared;
  assert.ok(lease);
  shared.put(lease);
  await clock.pass(5000);
  assert.deepEqual(one.terms, [1]);
});

test("a restarted process with the same identity leads at once, in a new term", async (t) => {
  const { clock, start, shared } = scene(t);
  shared.put({ holder: "one", duration: 15_000, transitions: 3 });
  const [one, two] = [start("one"), start("two")];
  await clock.pass(0);
  assert.deepEqual([one.lead.term(), two.lead.term()], [4, null]);
});
