import assert from "node:assert/strict";
import { test } from "node:test";
import { applyChange, type Change, deriveId, emptySnapshot, type Snapshot } from "@sluice/model";
import { runToCompletion } from "../time-slicing.ts";
import { applyChangeSliced } from "./apply-in-slices.ts";

const numbers = Array.from({ length: 500 }, (_, at) => at);
const service = (at: number, name = `s${at}`) => ({
  id: deriveId("services", `s${at}`),
  name,
  url: `http://${at}.test`,
});
const route = (at: number) => ({
  name: `r${at}`,
  paths: [`/${at}`],
  service: { id: deriveId("services", `s${at}`) },
  _sluice: { namespace: "default" },
});
/** Routes come before the services that they refer to. */
const all: Change = {
  put: { routes: numbers.map(route), services: numbers.map((at) => service(at)) },
  remove: {},
  endpoints: { [deriveId("services", "s1")]: [{ address: "10.0.0.1", port: 80 }] },
};
const whole = (previous: Snapshot, change: Change): Snapshot => {
  const { value, violations } = applyChange(previous, change);
  assert.deepEqual(violations, undefined);
  return value as Snapshot;
};

/** The result, and the number of steps. */
function inParts(previous: Snapshot, change: Change) {
  const steps = applyChangeSliced(previous, change);
  let count = 1;
  for (;;) {
    const { done, value } = steps.next();
    if (done) return { ...value, count };
    count++;
  }
}

test("a large change is applied in several steps and gives the same snapshot as in one step", () => {
  const { value, count } = inParts(emptySnapshot, all);
  assert.equal(value?.hash, whole(emptySnapshot, all).hash);
  assert.ok(count >= 5, `${count} steps`);
});

test("a large change that also removes entities gives the same snapshot as in one step", () => {
  const before = whole(emptySnapshot, all);
  const change: Change = {
    put: { services: numbers.slice(250).map((at) => service(at, `new-${at}`)) },
    remove: {
      routes: numbers.slice(0, 250).map((at) => deriveId("routes", `r${at}`)),
      services: numbers.slice(0, 250).map((at) => deriveId("services", `s${at}`)),
    },
  };
  const { value } = inParts(before, change);
  assert.equal(value?.hash, whole(before, change).hash);
  assert.equal(value?.services.size, 250);
});

test("a large change that moves names between entities gives the same snapshot as in one step", () => {
  const before = whole(emptySnapshot, all);
  const change: Change = {
    put: { services: numbers.map((at) => service(at, `s${(at + 250) % 500}`)) },
    remove: {},
  };
  assert.equal(inParts(before, change).value?.hash, whole(before, change).hash);
});

test("the paths of violations refer to the whole change", () => {
  const change: Change = { ...all, put: { ...all.put, routes: [...numbers.map(route), { name: 7 }] } };
  const { violations } = runToCompletion(applyChangeSliced(emptySnapshot, change));
  assert.deepEqual(violations, applyChange(emptySnapshot, change).violations);
  assert.deepEqual(violations?.[0]?.path.slice(0, 2), ["routes", 500]);
});
