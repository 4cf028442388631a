import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type BatchOptions, batchQueries } from "./batch-queries.ts";

function rig(options: Partial<BatchOptions> = {}) {
  const asked: (readonly string[])[] = [];
  const open: PromiseWithResolvers<void>[] = [];
  const find = batchQueries<string>(
    async (keys) => {
      asked.push(keys);
      const gate = Promise.withResolvers<void>();
      open.push(gate);
      await gate.promise;
      return new Map(keys.map((key) => [key, `value of ${key}`]));
    },
    { maxQueries: 1, maxKeys: 10, ...options },
  );
  const read = async (key: string): Promise<string | undefined> => (await find([key])).get(key);
  return { asked, open, find, read };
}

describe("batched lookups", () => {
  it("share one query when they are requested at the same time, with each key once", async () => {
    const { asked, open, read } = rig();
    const values = ["a", "b", "a", "c"].map(read);
    await setImmediate();
    assert.deepEqual(asked, [["a", "b", "c"]]);
    open[0]?.resolve();
    assert.deepEqual(await Promise.all(values), ["value of a", "value of b", "value of a", "value of c"]);
  });

  it("never get the result of a query that was sent before they were requested", async () => {
    const { asked, open, read } = rig();
    const first = read("a");
    await setImmediate();
    const later = [read("a"), read("b")];
    await setImmediate();
    assert.deepEqual(asked, [["a"]]);
    open[0]?.resolve();
    await first;
    await setImmediate();
    assert.deepEqual(asked, [["a"], ["a", "b"]]);
    open[1]?.resolve();
    assert.deepEqual(await Promise.all(later), ["value of a", "value of b"]);
  });

  it("do not wait for a slow query while another query may run beside it", async () => {
    const { asked, open, read } = rig({ maxQueries: 2 });
    void read("slow");
    await setImmediate();
    const quick = read("quick");
    await setImmediate();
    assert.deepEqual(asked, [["slow"], ["quick"]]);
    open[1]?.resolve();
    assert.equal(await quick, "value of quick");
  });

  it("are split into several queries if there are too many keys for one, but the keys of one caller are never split", async () => {
    const { asked, open, find } = rig({ maxKeys: 3 });
    const values = [["a", "b"], ["c"], ["d"], ["e", "f", "g", "h"], ["i"]].map((keys) => find(keys));
    const expected = [["a", "b", "c"], ["d"], ["e", "f", "g", "h"], ["i"]];
    for (const [index] of expected.entries()) {
      while (open[index] === undefined) await setImmediate();
      open[index]?.resolve();
    }
    await Promise.all(values);
    assert.deepEqual(asked, expected);
  });

  it("fail for every caller of a query that fails, and for no other caller", async () => {
    const { open, read } = rig();
    const failing = [read("a"), read("b")];
    await setImmediate();
    const next = read("c");
    open[0]?.reject(new Error("gone"));
    for (const one of failing) await assert.rejects(one, /gone/);
    while (open[1] === undefined) await setImmediate();
    open[1]?.resolve();
    assert.equal(await next, "value of c");
  });
});
