import assert from "node:assert/strict";
import { test } from "node:test";
import { testWorld } from "../translate/testing-world.ts";
import { createTranslator } from "../translate/translator.ts";
import { drain } from "../turns.ts";
import { createBatches } from "./batches.ts";
import { createMaking, type Made } from "./making.ts";
import { nothing } from "./nothing.ts";

function scene() {
  const made = testWorld();
  const make = createMaking({
    resources: made.world,
    batches: createBatches({ class: "sluice" }),
    translator: createTranslator({ homeNamespace: "default", class: "sluice" }),
    empty: nothing,
  });
  for (let at = 0; at < 300; at++) made.put("Service", `s${at}`, { spec: { url: `http://${at}.test` } });
  return { ...made, make };
}
const names = ({ built }: Made) => [...built.snapshot.services.values()].map(({ host }) => host).sort();

test("what changes while everything is translated is in the next document, and not in a part of this one", () => {
  const { make, put, remove } = scene();
  const steps = make(null);
  for (let step = 0; step < 100; step++) assert.ok(!steps.next().done, "it is done in many steps");
  put("Service", "s1", { spec: { url: "http://early.test" } });
  put("Service", "s299", { spec: { url: "http://late.test" } });
  remove("Service", "s298");
  const first = drain(steps);
  assert.equal(first.built.snapshot.services.size, 300);
  assert.deepEqual(
    names(first).filter((name) => !/^\d/.test(`${name}`)),
    [],
  );
  assert.equal(first.resources.Service.get("default/s299")?.metadata.generation, 1, "which generation was translated");

  const second = drain(make(new Set(["Service/default/s1", "Service/default/s299", "Service/default/s298"])));
  assert.deepEqual(
    names(second).filter((name) => !/^\d/.test(`${name}`)),
    ["early.test", "late.test"],
  );
  assert.equal(second.built.snapshot.services.size, 299);
});

test("a few changes are one step, however many resources there are", () => {
  const { make, put } = scene();
  drain(make(null));
  put("Service", "s1", { spec: { url: "http://changed.test" } });
  const { done, value } = make(new Set(["Service/default/s1"])).next();
  assert.ok(done && value);
  assert.deepEqual(value.changed, new Set(["Service/default/s1"]));
});
