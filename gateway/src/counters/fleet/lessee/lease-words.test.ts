import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { waitFor } from "../../../../../tools/process/index.ts";
import { createLeaseMemory, LeaseSlots } from "./lease-words.ts";
import type { LeaseThreadOptions } from "./testing-lease-thread.ts";

const THREADS = 3;

test("threads take each token once while tokens are granted and given back, and none of the next lease in the slot", async () => {
  const memory = createLeaseMemory(1);
  const slots = new LeaseSlots(memory);
  const lease = slots.allocate();
  const control = new Int32Array(new SharedArrayBuffer(8));
  const workerData: LeaseThreadOptions = { memory, place: lease.place, control };
  const threads = Array.from({ length: THREADS }, () => {
    const thread = new Worker(new URL("./testing-lease-thread.ts", import.meta.url), { workerData });
    return once(thread, "message") as Promise<[taken: number]>;
  });
  await waitFor(() => control[0] === THREADS, { what: "the threads to begin" });
  let [granted, givenBack] = [0, 0];
  for (let turn = 0; turn < 20_000; turn++) {
    lease.grant(turn % 5);
    granted += turn % 5;
    if (turn % 3 === 0) givenBack += lease.take(2);
    if (turn % 7 === 0 && lease.takeAll(1)) lease.putBack(1);
  }
  await waitFor(() => lease.held === 0, { what: "the threads to take the last tokens" });
  slots.free(lease);
  const next = slots.allocate();
  next.grant(1000);
  Atomics.store(control, 1, 1);
  const taken = (await Promise.all(threads)).reduce((sum, [each]) => sum + each, 0);
  assert.equal(taken + givenBack, granted);
  assert.equal(next.held, 1000);
});

test("a lease reports once that few tokens are left, until more have been leased", () => {
  const lease = new LeaseSlots(createLeaseMemory(1)).allocate();
  lease.setLow(2);
  lease.grant(4);
  const reports = [1, 2, 3, 4].map(() => {
    lease.take(1);
    return lease.reportLow();
  });
  assert.deepEqual(reports, [false, true, false, false]);
  lease.grant(1);
  lease.setLow(2);
  assert.equal(lease.reportLow(), true);
});

test("all slots can be used again", () => {
  const slots = new LeaseSlots(createLeaseMemory(2));
  const [one] = [slots.allocate(), slots.allocate()];
  assert.ok(one);
  assert.throws(() => slots.allocate(), /all slots/);
  const { generation } = one.place;
  slots.free(one);
  assert.notEqual(slots.allocate().place.generation, generation);
});
