import assert from "node:assert/strict";
import { test } from "node:test";
import { applyChange, emptySnapshot, type Snapshot } from "@sluice/model";
import { changeBetween, snapshotToDocument } from "./shared.ts";

function snapshotOf(name: string): Snapshot {
  const { value } = applyChange(emptySnapshot, { put: { services: [{ name, url: "http://x.test" }] }, remove: {} });
  assert.ok(value);
  return value;
}
const [one, other] = [snapshotOf("one"), snapshotOf("other")];

test("a change is made once for all nodes that run the same", () => {
  const change = changeBetween(emptySnapshot, one);
  assert.equal(changeBetween(emptySnapshot, one), change);
  assert.notEqual(changeBetween(other, one), change);
  assert.deepEqual(Object.keys(change.put), ["services"]);
});

test("a document is made once until another one is asked for", () => {
  const document = snapshotToDocument(one);
  assert.equal(snapshotToDocument(one), document);
  assert.notEqual(snapshotToDocument(other), document);
  assert.deepEqual(snapshotToDocument(one), document);
});
