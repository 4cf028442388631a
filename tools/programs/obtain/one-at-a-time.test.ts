import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { startProcess } from "../../process/index.ts";
import { oneAtATime } from "./one-at-a-time.ts";

test("work of one name never overlaps, and work of another name does not wait", async () => {
  const name = randomUUID();
  let running = 0;
  let most = 0;
  let waits = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await oneAtATime(randomUUID(), async () => {});
    running--;
  };
  await Promise.all(Array.from({ length: 8 }, () => oneAtATime(name, work, () => waits++)));
  assert.deepEqual({ most, waits }, { most: 1, waits: 7 });
});

test("failed work releases the lock", async () => {
  const name = randomUUID();
  await assert.rejects(
    oneAtATime(name, () => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.equal(await oneAtATime(name, async () => "next"), "next");
});

test("a killed process releases the lock", async () => {
  const name = randomUUID();
  const code = `
    import { oneAtATime } from ${JSON.stringify(join(import.meta.dirname, "one-at-a-time.ts"))};
    await oneAtATime(${JSON.stringify(name)}, () => { console.log("working"); return new Promise(() => {}) });`;
  const args = ["--input-type=module", "--eval", code];
  const holder = await startProcess(process.execPath, args, { name: "holder", ready: /working/ });
  const next = oneAtATime(
    name,
    async () => "next",
    () => void holder.kill9(),
  );
  assert.equal(await next, "next");
});
