/** The conformance suite of slots for what is in progress. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Concurrency } from "@sluice/plugin-sdk";
import fc from "fast-check";

/**
 * @param open Called for every test. Each item of the list stands for one of the workers that share the slots; none is
 * held.
 */
export function concurrencySuite(name: string, open: () => readonly [Concurrency, ...Concurrency[]]): void {
  describe(name, () => {
    it("are acquired up to the limit, and again when one is released", () => {
      const workers = open();
      const worker = (at: number) => workers[at % workers.length] ?? workers[0];
      assert.deepEqual(
        [0, 1, 2, 3].map((at) => worker(at).acquire("a", 3)),
        [true, true, true, false],
      );
      worker(1).release("a");
      assert.equal(worker(0).acquire("a", 3), true);
      assert.equal(worker(1).acquire("a", 3), false);
    });

    it("are counted for each name, and a refused caller holds none", () => {
      const [worker] = open();
      assert.deepEqual([worker.acquire("a", 1), worker.acquire("a", 1), worker.acquire("b", 1)], [true, false, true]);
      assert.deepEqual([worker.held("a"), worker.held("b"), worker.held("c")], [1, 1, 0]);
    });

    it("follow the given limit, even if it changes", () => {
      const [worker] = open();
      assert.deepEqual([worker.acquire("a", 2), worker.acquire("a", 2)], [true, true]);
      assert.deepEqual([worker.acquire("a", 1), worker.acquire("a", 3)], [false, true]);
    });

    it("of thousands of names that come and go are all released", () => {
      const workers = open();
      for (let round = 0; round < 50; round++) {
        const names = Array.from({ length: 100 }, (_, at) => `${round} ${at}`);
        for (const [at, name] of names.entries()) {
          assert.ok((workers[at % workers.length] ?? workers[0]).acquire(name, 1));
          assert.ok(!workers[0].acquire(name, 1));
        }
        for (const [at, name] of names.entries()) (workers[at % workers.length] ?? workers[0]).release(name);
        for (const name of names) assert.equal(workers[0].held(name), 0);
      }
    });

    it("in any sequence of calls are exactly those that were acquired and not released", () => {
      const calls = fc.array(fc.record({ worker: fc.nat(), name: fc.nat({ max: 3 }), releases: fc.boolean() }));
      fc.assert(
        fc.property(calls, (sequence) => {
          const workers = open();
          const held: { readonly worker: Concurrency; readonly name: string }[] = [];
          for (const { worker: at, name: number, releases } of sequence) {
            const worker = workers[at % workers.length] ?? workers[0];
            const name = `${number}`;
            const own = held.findIndex((one) => one.worker === worker && one.name === name);
            if (releases && own >= 0) {
              worker.release(name);
              held.splice(own, 1);
            } else if (worker.acquire(name, 2)) held.push({ worker, name });
            const count = held.filter((one) => one.name === name).length;
            assert.ok(count <= 2);
            for (const each of workers) assert.equal(each.held(name), count);
          }
        }),
      );
    });
  });
}
