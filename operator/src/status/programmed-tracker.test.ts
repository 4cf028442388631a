import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import type { Problem } from "./conditions.ts";
import { createProgrammedTracker, PENDING_GRACE } from "./programmed-tracker.ts";

const resource = (generation: number, said?: number, uid = "u"): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name: "users", namespace: "default", uid, generation },
  ...(said !== undefined && {
    status: { conditions: [{ type: "Programmed", status: "True", reason: "", message: "", observedGeneration: said }] },
  }),
});
const problem: Problem = { condition: "Accepted", reason: "Invalid", message: "wrong" };

function scene() {
  let time = 0;
  const book = createProgrammedTracker(() => time);
  return {
    contained: (one: Resource, revision: number, problems: readonly Problem[] = [], isFirst = false) =>
      book.recordPublished("r", one, problems, { revision, isFirst }),
    programmed: (acknowledged: number) => book.progress("r", acknowledged, "waiting")?.programmed,
    book,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
  };
}

test("a resource is programmed once its revision is acknowledged, and stays programmed while its generation is unchanged", () => {
  const { contained, programmed } = scene();
  assert.equal(contained(resource(1), 5), true);
  assert.equal(programmed(4), undefined);
  assert.equal(programmed(5), true);
  assert.equal(contained(resource(1), 6), false);
  assert.equal(programmed(0), true, "a node that restarts causes no write");
});

test("a resource is tracked anew when its generation, its uid or its problems change", () => {
  for (const [next, problems] of [
    [resource(2), []],
    [resource(1, undefined, "other"), []],
    [resource(1), [problem]],
  ] as const) {
    const { contained, programmed } = scene();
    contained(resource(1), 5);
    programmed(5);
    assert.equal(contained(next, 6, problems), true);
    assert.equal(programmed(5), undefined);
    assert.equal(contained(next, 7, problems), false);
    assert.equal(programmed(6), true);
  }
});

test("waiting for nodes is reported only after the grace period", () => {
  const { contained, book, programmed, pass } = scene();
  contained(resource(1), 5);
  pass(PENDING_GRACE - 1);
  assert.equal(programmed(4), undefined);
  pass(1);
  assert.deepEqual(book.progress("r", 4, "waiting"), { programmed: false, message: "waiting" });
});

test("no resource is programmed while no node has acknowledged a revision", () => {
  const { contained, programmed } = scene();
  contained(resource(1), 0);
  assert.equal(programmed(0), undefined);
});

test("after a restart the status of a resource shows whether its current generation was programmed", () => {
  for (const [said, expected] of [
    [3, true],
    [2, undefined],
  ] as const) {
    const { contained, programmed } = scene();
    contained(resource(3, said), 1, [], true);
    assert.equal(programmed(0), expected);
  }
});

test("after a restart a resource with a warning is still programmed, and one with another problem is not", () => {
  for (const [one, expected] of [
    [{ ...problem, isWarning: true }, true],
    [problem, undefined],
  ] as const) {
    const { contained, programmed } = scene();
    contained(resource(2, 2), 1, [one], true);
    assert.equal(programmed(0), expected);
  }
});

test("the status of a resource that appears after the first document is not trusted", () => {
  const { contained, programmed } = scene();
  contained(resource(3, 3), 2);
  assert.equal(programmed(1), undefined);
  assert.equal(programmed(2), true);
});

test("after forget(), a resource is not tracked", () => {
  const { contained, book } = scene();
  contained(resource(1), 5);
  book.forget("r");
  assert.equal(book.progress("r", 5, ""), undefined);
});
