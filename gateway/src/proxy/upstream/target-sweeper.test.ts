import assert from "node:assert/strict";
import { test } from "node:test";
import type { Runtime, UpstreamTarget } from "../../compile/runtime.ts";
import { TargetSweeper } from "./target-sweeper.ts";

const target = (key: string) => ({ key }) as UpstreamTarget;

/** A runtime that serves the targets with these keys. */
const serving = (...keys: readonly string[]) =>
  ({ upstreams: { get: () => null, serves: ({ key }: UpstreamTarget) => keys.includes(key) } }) as unknown as Runtime;

function keeping(...keys: readonly string[]) {
  const kept = new Map(keys.map((key) => [key, { target: target(key) }]));
  const retirement = new TargetSweeper({ kept, drop: (key) => kept.delete(key) });
  return { kept, retirement, left: () => [...kept.keys()].join(" ") };
}

/** Waits for a condition, checking it once per event loop turn. */
async function becomes(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `timed out waiting until ${holds}`);
    await new Promise(setImmediate);
  }
}

test("state of removed targets is dropped after a swap, and not before the swap", async () => {
  const { retirement, left } = keeping("a", "b", "c");
  retirement.follow(serving("b"));
  await new Promise(setImmediate);
  assert.equal(left(), "a b c", "the first runtime replaces none");
  const next = serving("a", "c");
  retirement.follow(next);
  await becomes(() => left() === "a c");
  retirement.follow(next);
  retirement.close();
});

test("a thousand targets are checked in several iterations of the event loop", async () => {
  const keys = Array.from({ length: 1000 }, (_, at) => `k${at}`);
  const { retirement, kept } = keeping(...keys);
  retirement.follow(serving(...keys));
  retirement.follow(serving());
  let turns = 0;
  for (; kept.size > 0; turns++) await new Promise(setImmediate);
  assert.ok(turns >= 10, `${turns} turns`);
  retirement.close();
});

test("a swap during or soon after a sweep causes another sweep", async () => {
  const { retirement, kept, left } = keeping("a", "b", "c");
  retirement.follow(serving("a", "b", "c"));
  retirement.follow(serving("a", "b"));
  await becomes(() => left() === "a b");
  retirement.follow(serving("a"));
  kept.set("d", { target: target("d") });
  retirement.follow(serving("d"));
  await becomes(() => left() === "d");
  retirement.close();
});

test("no target is swept while upstreams are unchanged", async () => {
  const { upstreams } = serving("a");
  const { retirement, left } = keeping("a", "b");
  retirement.follow({ upstreams } as Runtime);
  retirement.follow({ upstreams } as Runtime);
  await new Promise(setImmediate);
  assert.equal(left(), "a b");
  assert.ok(retirement.serves(target("a")) && !retirement.serves(target("b")));
  retirement.close();
});
