import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { WaitResponse, WrittenResource } from "@sluice/model";
import type { Acknowledgement } from "../publish/publisher.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createProgrammedWaiters } from "./programmed-waiters.ts";

const written: WrittenResource = { kind: "Route", namespace: "default", name: "users" };
function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const state = {
    isUpToDate: true,
    revision: 1,
    problems: [] as WaitResponse["problems"],
    acknowledged: 1,
  };
  const { clusterState, put, remove } = testClusterState();
  const room = createProgrammedWaiters({
    clusterState,
    isUpToDate: () => state.isUpToDate,
    revision: () => state.revision,
    acknowledgement: (revision): Acknowledgement => {
      const has = state.acknowledged >= revision;
      return {
        programmed: has,
        acknowledged: has ? ["a", "b"] : ["a"],
        lagging: has ? [] : ["b"],
        silent: ["c"],
      };
    },
    problemsOf: () => state.problems,
  });
  const wait = (wanted: Partial<WrittenResource> = {}, timeout?: number) => {
    let answer: WaitResponse | undefined;
    const request = { resources: [{ ...written, ...wanted }], ...(timeout === undefined ? {} : { timeout }) };
    void room.wait(request).then((given) => {
      answer = given;
    });
    /** Returns the response; undefined while the request waits. */
    return () => answer;
  };
  return { room, state, put, remove, wait, tick: (time: number) => t.mock.timers.tick(time) };
}
const spec = { spec: { paths: ["/users"] } };

test("a wait for a change that every node except silent ones already serves returns at once", async (t) => {
  const { put, wait, room } = scene(t);
  put("Route", "users", spec);
  const result = wait({ generation: 1 });
  await turn();
  assert.deepEqual(result(), {
    programmed: true,
    revision: 1,
    acknowledged: ["a", "b"],
    lagging: [],
    silent: ["c"],
    problems: [],
  });
  assert.equal(room.size, 0);
});

test("a wait ends with the revision that contains the write, not with an earlier revision", async (t) => {
  const { put, wait, room, state } = scene(t);
  const result = wait({ generation: 1 });
  state.isUpToDate = false;
  put("Route", "users", spec);
  room.resolveReady();
  await turn();
  assert.equal(result(), undefined, "the document does not contain the write yet");
  Object.assign(state, { isUpToDate: true, revision: 2 });
  room.resolveReady();
  await turn();
  assert.equal(result(), undefined, "the nodes do not have the write yet");
  state.acknowledged = 2;
  room.resolveReady();
  await turn();
  assert.equal(result()?.programmed, true);
});

test("a wait for a deletion ends when every node except silent ones has removed the resource", async (t) => {
  const { put, remove, wait, room, state } = scene(t);
  const { metadata } = put("Route", "users", spec);
  const result = wait({ deleted: true, ...(metadata.uid && { uid: metadata.uid }) });
  remove("Route", "users");
  Object.assign(state, { revision: 2, acknowledged: 1 });
  room.resolveReady();
  await turn();
  assert.equal(result(), undefined);
  state.acknowledged = 2;
  room.resolveReady();
  await turn();
  assert.equal(result()?.programmed, true);
});

test("after the timeout the response names lagging and silent nodes", async (t) => {
  const { put, wait, state, tick, room } = scene(t);
  put("Route", "users", spec);
  Object.assign(state, { revision: 2, acknowledged: 1 });
  const result = wait({ generation: 1 }, 700);
  tick(699);
  await turn();
  assert.equal(result(), undefined);
  tick(1);
  await turn();
  const answer = result();
  assert.deepEqual([answer?.programmed, answer?.lagging, answer?.silent, room.size], [false, ["b"], ["c"], 0]);
});

test("a write that is never observed is waited for until the timeout: five seconds by default", async (t) => {
  const { wait, tick } = scene(t);
  const result = wait({ generation: 1 });
  tick(4999);
  await turn();
  assert.equal(result(), undefined);
  tick(1);
  await turn();
  assert.equal(result()?.programmed, false);
});

test("a wait for a resource with problems returns these problems", async (t) => {
  const { put, wait, state } = scene(t);
  put("Route", "users", spec);
  state.problems = [{ ...written, reason: "Invalid", message: "wrong" }];
  const result = wait({ generation: 1 });
  await turn();
  assert.deepEqual([result()?.programmed, result()?.problems], [false, state.problems]);
});

test("closing ends all waits", async (t) => {
  const { wait, room } = scene(t);
  const results = [wait({ generation: 1 }), wait({ generation: 2 })];
  assert.equal(room.size, 2);
  room.close();
  await turn();
  assert.deepEqual([room.size, results.map((result) => result()?.programmed)], [0, [false, false]]);
});
