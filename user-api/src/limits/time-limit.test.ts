import assert from "node:assert/strict";
import { mock, suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { makeTimeLimit } from "./time-limit.ts";

/** Work that a test ends. */
function work<Result>() {
  return Promise.withResolvers<Result>();
}

const code = (error: unknown): unknown => (error as { extensions?: { code?: unknown } }).extensions?.code;

suite("the time limit of operations", () => {
  test("returns the result of the work, or its failure", async () => {
    const limitTime = makeTimeLimit(1_000);
    assert.equal(await limitTime(Promise.resolve(7)), 7);
    await assert.rejects(limitTime(Promise.reject(new Error("broken"))), /broken/);
  });

  test("rejects with TIMEOUT, at its own deadline, each piece of work that takes too long, and no other work", async (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    mock.timers.enable({ apis: ["setTimeout"] });
    t.after(() => mock.timers.reset());
    const pass = async (milliseconds: number) => {
      now += milliseconds;
      mock.timers.tick(milliseconds);
      await setImmediate();
    };
    const limitTime = makeTimeLimit(100);
    const ended: string[] = [];
    const follow = (name: string, one: Promise<unknown>) =>
      one.then(
        () => ended.push(name),
        (error: unknown) => ended.push(`${name} ${code(error)}`),
      );
    const [slow, quick, later] = [work(), work(), work()];
    follow("slow", limitTime(slow.promise));
    follow("quick", limitTime(quick.promise));
    await pass(60);
    follow("later", limitTime(later.promise));
    quick.resolve(1);
    await pass(39);
    assert.deepEqual(ended, ["quick"]);
    await pass(1);
    assert.deepEqual(ended, ["quick", "slow TIMEOUT"]);
    await pass(59);
    assert.deepEqual(ended, ["quick", "slow TIMEOUT"]);
    await pass(1);
    assert.deepEqual(ended, ["quick", "slow TIMEOUT", "later TIMEOUT"]);
    // Work that ends afterwards has no effect on the result.
    slow.resolve(1);
    later.reject(new Error("too late"));
    await setImmediate();
    assert.equal(ended.length, 3);
  });

  test("returns the results of many operations that end in any order", async () => {
    const limitTime = makeTimeLimit(60_000);
    const works = Array.from({ length: 1_000 }, () => work<number>());
    const results = Promise.all(works.map(({ promise }) => limitTime(promise)));
    for (const index of works.keys()) works[(index * 7) % 1_000]?.resolve(index);
    assert.equal(new Set(await results).size, 1_000);
  });
});
