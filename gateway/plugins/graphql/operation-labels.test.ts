/** How many names and documents are counted separately. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CountedOperations, UNKNOWN_OPERATION, UNNAMED_OPERATION } from "./operation-labels.ts";

const HOUR = 3_600_000;
const START = 1_700_000_000_000;
/** 64 hex digits, of which the first twelve differ. */
const sha256 = (number: number): string => number.toString(16).padStart(12, "0").padEnd(64, "f");

function start(limit: number) {
  const clock = { now: START };
  const counted = new CountedOperations(limit, () => clock.now);
  const shown = (name: string, number: number | null): string => {
    const labels = counted.labelsOf(name, number === null ? null : sha256(number));
    return `${labels.name} ${labels.hash}`;
  };
  return { clock, counted, shown };
}

describe("the labels of operations", () => {
  it("have the first twelve digits of the document's hash, and none of a document that is not known", () => {
    const { shown } = start(8);
    assert.deepEqual([shown("Users", 1), shown("Users", null)], ["Users 000000000001", "Users "]);
    assert.equal(shown(UNNAMED_OPERATION, 2), "(unnamed) 000000000002");
    assert.equal(shown(UNKNOWN_OPERATION, null), "(unknown) ");
  });

  it("have a quarter of the documents at most for one name, so that other names have some left", () => {
    const { shown } = start(8);
    assert.deepEqual(
      [1, 2, 3, 1].map((number) => shown("Users", number)),
      ["Users 000000000001", "Users 000000000002", "Users (other)", "Users 000000000001"],
    );
    assert.equal(shown("Posts", 4), "Posts 000000000004");
  });

  it("have no more documents of all names together than the limit, and no document of a name beyond the limit", () => {
    const { shown } = start(2);
    assert.equal(shown("A", 1), "A 000000000001");
    assert.equal(shown(UNNAMED_OPERATION, 2), "(unnamed) 000000000002");
    assert.equal(shown("B", 3), "B (other)");
    assert.equal(shown("C", 4), "(other) (other)");
  });

  it("have at least one document for a name, however low the limit is", () => {
    assert.equal(start(1).shown("A", 1), "A 000000000001");
  });

  it("forget documents and names that have not been used for an hour, and only those", () => {
    const { clock, shown } = start(4);
    for (const [at, name] of ["A", "B", "C", "D"].entries()) shown(name, at);
    clock.now += HOUR / 2;
    assert.equal(shown("A", 9), "A (other)");
    shown("A", 0);
    clock.now += HOUR / 2;
    assert.equal(shown("E", 5), "E 000000000005");
    assert.equal(shown("A", 0), "A 000000000000");
    assert.deepEqual([shown("B", 1), shown("F", 6)], ["B 000000000001", "F 000000000006"]);
    assert.equal(shown("G", 7), "(other) (other)");
  });

  it("stay few, whatever names and documents a client invents", () => {
    const { shown } = start(10);
    const labels = new Set<string>();
    for (let number = 0; number < 5000; number++) labels.add(shown(`N${number % 50}`, number));
    assert.ok(labels.size <= 10 + 10 + 1, `${labels.size}`);
  });
});
