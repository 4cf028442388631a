import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDocument, type Snapshot } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { createIntake } from "./intake.ts";

const services = (...names: string[]) => ({
  _format_version: "3.0",
  services: names.map((name) => ({ name, host: "up.test" })),
});
const making =
  (...names: string[]) =>
  (previous: Snapshot) =>
    applyDocument(previous, services(...names));

test("an update is acknowledged when it is served, and the next update is based on the served snapshot", async () => {
  const serving: { snapshot: Snapshot; done: () => void }[] = [];
  const intake = createIntake({
    node: "n",
    version: "1",
    serve: (snapshot) => new Promise((done) => serving.push({ snapshot, done })),
  });
  const first = intake.update(1, making("a"));
  let before: Snapshot | undefined;
  const second = intake.update(2, (previous) => {
    before = previous;
    return making("a", "b")(previous);
  });
  await waitFor(() => serving.length > 0, { what: "the first snapshot to be passed to the workers" });
  assert.deepEqual([serving.length, before, intake.state().revision, intake.state().hash], [1, undefined, 0, null]);
  serving[0]?.done();
  assert.equal((await first).value?.hash, serving[0]?.snapshot.hash);
  await waitFor(() => serving.length > 1, { what: "the second snapshot to be passed to the workers" });
  assert.equal(before, serving[0]?.snapshot);
  serving[1]?.done();
  assert.equal((await second).value?.revision, 2);
});

test("an update that cannot be served does not change the state, and the next update is accepted", async () => {
  let broken = true;
  const intake = createIntake({
    node: "n",
    version: "1",
    async serve() {
      if (broken) throw new Error("a bug");
    },
  });
  await assert.rejects(intake.update(1, making("a")), /a bug/);
  assert.equal(intake.state().hash, null);
  broken = false;
  assert.equal((await intake.update(2, making("a"))).value?.revision, 2);
});

test("an update is computed, served and acknowledged in separate iterations of the event loop, so that requests run in between", async () => {
  const steps: string[] = [];
  const intake = createIntake({ node: "n", version: "1", serve: () => void steps.push("served") });
  const count = () => {
    steps.push("turn");
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  steps.push("asked");
  await intake.update(1, (previous) => {
    steps.push("worked out");
    return making("a")(previous);
  });
  steps.push("acknowledged");
  clearImmediate(immediate);
  const done = steps.filter((step) => step !== "turn");
  assert.deepEqual(done, ["asked", "worked out", "served", "acknowledged"]);
  for (const step of done.slice(1)) assert.equal(steps[steps.indexOf(step) - 1], "turn", step);
});
