import assert from "node:assert/strict";
import { test } from "node:test";
import type { WaitResponse } from "@sluice/model";
import { awaitNodes } from "./operator-client.ts";

const good: WaitResponse = {
  programmed: true,
  revision: 1,
  acknowledged: ["a"],
  lagging: [],
  silent: [],
  problems: [],
};
const written = Array.from({ length: 250 }, (_, index) => ({ kind: "Plugin", namespace: "a", name: `${index}` }));

test("a wait for more than a hundred resources sends several requests", async () => {
  const asked: number[] = [];
  const answer = await awaitNodes(written, 1, async ({ resources }) => {
    asked.push(resources.length);
    return good;
  });
  assert.deepEqual(answer, good);
  assert.deepEqual(asked, [100, 100, 50]);
});

test("a node that lags in one of several responses counts as lagging", async () => {
  const answers = [good, { ...good, programmed: false, acknowledged: [], lagging: ["a"] }, good];
  const answer = await awaitNodes(written, 1, async () => answers.shift() ?? null);
  assert.deepEqual(answer, { ...good, programmed: false, acknowledged: [], lagging: ["a"] });
});

test("the result is unknown if one of several requests fails", async () => {
  const answers = [good, null, good];
  assert.equal(await awaitNodes(written, 1, async () => answers.shift() ?? null), null);
});
