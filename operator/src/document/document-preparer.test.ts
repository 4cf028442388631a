import assert from "node:assert/strict";
import { test } from "node:test";
import { runToCompletion } from "../time-slicing.ts";
import { testClusterState } from "../translate/testing-cluster-state.ts";
import { createTranslator } from "../translate/translator.ts";
import { createBatches } from "./batches.ts";
import { createDocumentPreparer, type PreparedDocument } from "./document-preparer.ts";

function scene() {
  const made = testClusterState();
  const translator = createTranslator({ homeNamespace: "default", class: "sluice" });
  const make = createDocumentPreparer({
    clusterState: made.clusterState,
    batches: createBatches({ class: "sluice" }),
    translator,
    listeners: () => new Map(),
    challenges: () => new Map(),
  });
  for (let at = 0; at < 300; at++) made.put("Service", `s${at}`, { spec: { url: `http://${at}.test` } });
  return { ...made, make };
}
const names = ({ built }: PreparedDocument) => [...built.snapshot.services.values()].map(({ host }) => host).sort();

test("a change during a full translation is in the next document only", () => {
  const { make, put, remove } = scene();
  const steps = make(null);
  for (let step = 0; step < 100; step++) assert.ok(!steps.next().done, "the full translation ended within 100 steps");
  put("Service", "s1", { spec: { url: "http://early.test" } });
  put("Service", "s299", { spec: { url: "http://late.test" } });
  remove("Service", "s298");
  const first = runToCompletion(steps);
  assert.equal(first.built.snapshot.services.size, 300);
  assert.deepEqual(
    names(first).filter((name) => !/^\d/.test(`${name}`)),
    [],
  );
  assert.equal(first.resources.Service.get("default/s299")?.metadata.generation, 1, "the translated generation");

  const second = runToCompletion(make(new Set(["Service/default/s1", "Service/default/s299", "Service/default/s298"])));
  assert.deepEqual(
    names(second).filter((name) => !/^\d/.test(`${name}`)),
    ["early.test", "late.test"],
  );
  assert.equal(second.built.snapshot.services.size, 299);
});

test("a change during the translation of some changes is in the next document only", () => {
  const { make, put, remove } = scene();
  runToCompletion(make(null));
  const changed = new Set<string>();
  for (let at = 0; at < 60; at++) {
    put("Service", `s${at}`, { spec: { url: `http://changed-${at}.test` } });
    changed.add(`Service/default/s${at}`);
  }
  const steps = make(changed);
  for (let step = 0; step < 30; step++) assert.ok(!steps.next().done, "the translation ended within 30 steps");
  put("Service", "s59", { spec: { url: "http://late.test" } });
  remove("Service", "s299");
  const first = runToCompletion(steps);
  assert.equal(names(first).filter((name) => `${name}`.startsWith("changed-")).length, 60);
  assert.equal(first.built.snapshot.services.size, 300);

  const second = runToCompletion(make(new Set(["Service/default/s59", "Service/default/s299"])));
  assert.equal(names(second).filter((name) => `${name}`.startsWith("changed-")).length, 59);
  assert.ok(names(second).includes("late.test"));
  assert.equal(second.built.snapshot.services.size, 299);
});

for (const [count, most] of [
  [1, 5],
  [70, 300],
] as const)
  test(`${count} of 300 resources are translated again in at most ${most} steps`, () => {
    const { make, put } = scene();
    runToCompletion(make(null));
    const changed = Array.from({ length: count }, (_, at) => `s${at}`);
    for (const name of changed) put("Service", name, { spec: { url: `http://${name}.changed.test` } });
    let steps = 0;
    for (const preparing = make(new Set(changed.map((name) => `Service/default/${name}`))); ; steps++)
      if (preparing.next().done) break;
    assert.ok(steps <= most, `${steps} steps`);
  });
