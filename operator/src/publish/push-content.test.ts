import assert from "node:assert/strict";
import { test } from "node:test";
import { applyChange, emptySnapshot, type Snapshot } from "@sluice/model";
import { sharedChange, sharedDocument } from "./push-content.ts";

function snapshotOf(name: string): Snapshot {
  const { value } = applyChange(emptySnapshot, { put: { services: [{ name, url: "http://x.test" }] }, remove: {} });
  assert.ok(value);
  return value;
}
const [one, other] = [snapshotOf("one"), snapshotOf("other")];

test("a change is computed once for all nodes with the same document", () => {
  const change = sharedChange(emptySnapshot, one);
  assert.equal(sharedChange(emptySnapshot, one), change);
  assert.notEqual(sharedChange(other, one), change);
  assert.deepEqual(Object.keys(change.put), ["services"]);
});

test("a document is computed once until another one is requested", () => {
  const document = sharedDocument(one);
  assert.equal(sharedDocument(one), document);
  assert.notEqual(sharedDocument(other), document);
  assert.deepEqual(sharedDocument(one), document);
});
