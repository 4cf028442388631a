import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { applyChange, emptySnapshot, type NodeReport } from "@sluice/model";
import { runNodeLoop } from "./node-loop.ts";
import { createPublishHistory } from "./publish-history.ts";
import { createPushLimiter, MAX_FULL_PUSHES } from "./push-limiter.ts";

const state: NodeReport = { node: "n", hash: null, revision: 0, version: "0" };
const snapshotOf = (name: string) => {
  const { value } = applyChange(emptySnapshot, { put: { services: [{ name, url: "http://x.test" }] }, remove: {} });
  assert.ok(value);
  return value;
};

/** A loop whose pushes end when the test ends them, on a clock that the test controls. */
async function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const history = createPublishHistory();
  const abort = new AbortController();
  t.after(() => abort.abort());
  const pushes: { readonly revision: number; end(error?: Error): Promise<void> }[] = [];
  const outcomes: string[] = [];
  const push = (revision: number, hash: string | undefined) =>
    new Promise<NodeReport>((resolve, reject) => {
      const end = async (error?: Error) => {
        if (error) reject(error);
        else resolve({ ...state, revision, hash: hash ?? null });
        await settle();
      };
      pushes.push({ revision, end });
    });
  const hashes = new Map<number, string>();
  /** Whether the node runs the base of the changes. */
  const knows = { changes: true };
  const lines = createPushLimiter();
  const loop = runNodeLoop({
    address: "http://a",
    client: {
      state: async () => state,
      put: ({ revision }) => push(revision, hashes.get(revision)),
      patch: async ({ revision }) => (knows.changes ? push(revision, hashes.get(revision)) : "stale"),
    },
    history,
    limiter: lines,
    term: () => 1,
    signal: abort.signal,
    onStatus: () => {},
    onPush: (outcome) => outcomes.push(outcome),
  });
  await settle();
  return {
    pushes,
    outcomes,
    abort,
    loop,
    knows,
    lines,
    async publish(revision: number, name = `s${revision}`) {
      const snapshot = snapshotOf(name);
      hashes.set(revision, snapshot.hash);
      history.add({ revision, snapshot });
      loop.wake();
      await settle();
    },
    async pass(milliseconds: number) {
      t.mock.timers.tick(milliseconds);
      await settle();
    },
  };
}

/** Runs everything that waits only for promises. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await turn();
}

test("an idle node gets a document at once, and a busy node gets the newest document right after its current push", async (t) => {
  const { publish, pushes } = await scene(t);
  await publish(1);
  await publish(2);
  await publish(3);
  assert.deepEqual(
    pushes.map(({ revision }) => revision),
    [1],
  );
  await pushes[0]?.end();
  assert.deepEqual(
    pushes.map(({ revision }) => revision),
    [1, 3],
  );
});

test("a node that no longer runs the document that it reported gets the full document", async (t) => {
  const { publish, pushes, knows, lines } = await scene(t);
  await publish(1);
  await pushes[0]?.end();
  const places = Promise.withResolvers<void>();
  for (let place = 0; place < MAX_FULL_PUSHES; place++) void lines.regular(() => places.promise);
  knows.changes = false;
  await publish(2);
  await publish(3, "s1");
  places.resolve();
  await settle();
  assert.deepEqual(
    pushes.map(({ revision }) => revision),
    [1, 3],
  );
});

test("failed pushes are retried with backoff", async (t) => {
  const { publish, pushes, outcomes, pass } = await scene(t);
  await publish(1);
  for (const [index, delay] of [200, 400, 800, 1600, 3200, 5000, 5000].entries()) {
    await pushes[index]?.end(new Error("reset"));
    await pass(delay - 1);
    assert.equal(pushes.length, index + 1, `the next attempt is made after ${delay} ms`);
    await pass(1);
    assert.equal(pushes.length, index + 2);
  }
  await pushes.at(-1)?.end();
  await publish(2);
  await pushes.at(-1)?.end(new Error("reset"));
  await pass(200);
  assert.equal(pushes.length, 10, "after a success the backoff starts again");
  assert.deepEqual(outcomes.slice(-2), ["acknowledged", "failed"]);
});

test("the loop ends when its signal aborts, whether it is waiting or pushing", async (t) => {
  const idle = await scene(t);
  idle.abort.abort();
  await idle.loop.done;
  t.mock.timers.reset();
  const busy = await scene(t);
  await busy.publish(1);
  busy.abort.abort();
  await busy.pushes[0]?.end(new Error("aborted"));
  await busy.loop.done;
  assert.deepEqual(busy.outcomes, []);
});
