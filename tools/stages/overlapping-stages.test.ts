import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { OrderedOutput } from "./ordered-output.ts";
import { StartQueue } from "./start-queue.ts";

test("tasks start in the order in which they were added, each when fewer tasks run than its limit", async () => {
  const queue = new StartQueue();
  const started: string[] = [];
  const add = (name: string, limit: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { ended } = queue.add(limit, () => {
      started.push(name);
      return promise;
    });
    return { ended, resolve, reject };
  };
  const [a, b, c, d] = [add("a", 2), add("b", 2), add("c", 1), add("d", 3)];
  await Promise.resolve();
  assert.deepEqual(started, ["a", "b"]);
  a.reject(new Error("a fails"));
  await assert.rejects(a.ended, /^Error: a fails$/);
  assert.deepEqual(started, ["a", "b"]);
  b.resolve();
  await b.ended;
  await Promise.resolve();
  assert.deepEqual(started, ["a", "b", "c", "d"]);
  c.resolve();
  d.resolve();
  await Promise.all([c.ended, d.ended]);
});

test("the output of stages that overlap is written one stage after the other", async () => {
  const target = new PassThrough();
  const output = new OrderedOutput(target);
  const [first, second] = [output.section(), output.section()];
  second.end("second\n");
  first.write("first, line 1\n");
  await new Promise(setImmediate);
  first.end("first, line 2\n");
  await output.ended();
  target.end();
  assert.equal(await text(target), "first, line 1\nfirst, line 2\nsecond\n");
});
