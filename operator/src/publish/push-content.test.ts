import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { applyChange, emptySnapshot, type Snapshot } from "@sluice/model";
import { pushBodyOf, sharedChange, sharedDocument } from "./push-content.ts";

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

test("a document that is requested repeatedly is computed once, until another document is requested", () => {
  const document = sharedDocument(one);
  assert.equal(sharedDocument(one), document);
  assert.notEqual(sharedDocument(other), document);
  assert.deepEqual(sharedDocument(one), document);
});

const change = { put: { services: [{ name: "users", host: "users.test" }] }, remove: {} };
const long = { _format_version: "3.0", services: Array.from({ length: 1000 }, (_, at) => ({ name: `service-${at}` })) };

test("a short push is sent uncompressed", async () => {
  const push = { revision: 2, base: "one", change };
  const { bytes, isZipped } = await pushBodyOf(push);
  assert.deepEqual([isZipped, JSON.parse(bytes.toString())], [false, push]);
});

test("a long push is compressed", async () => {
  const push = { revision: 3, document: long };
  const { bytes, isZipped } = await pushBodyOf(push);
  assert.equal(isZipped, true);
  assert.deepEqual(JSON.parse(gunzipSync(bytes).toString()), push);
});

test("nodes with the same push share one body; another revision has its own body", async () => {
  assert.equal(pushBodyOf({ revision: 4, document: long }), pushBodyOf({ revision: 4, document: long }));
  assert.notEqual(pushBodyOf({ revision: 4, document: long }), pushBodyOf({ revision: 5, document: long }));
  const { bytes } = await pushBodyOf({ revision: 2, base: "two", change });
  assert.equal(JSON.parse(bytes.toString()).base, "two");
});
