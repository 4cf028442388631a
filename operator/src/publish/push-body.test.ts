import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { pushBodyOf } from "./push-body.ts";

const change = { put: { services: [{ name: "users", host: "users.test" }] }, remove: {} };
const long = { _format_version: "3.0", services: Array.from({ length: 1000 }, (_, at) => ({ name: `service-${at}` })) };

test("a short push is sent as it is", async () => {
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

test("nodes with the same push share one body; another revision has its own", async () => {
  assert.equal(pushBodyOf({ revision: 4, document: long }), pushBodyOf({ revision: 4, document: long }));
  assert.notEqual(pushBodyOf({ revision: 4, document: long }), pushBodyOf({ revision: 5, document: long }));
  const { bytes } = await pushBodyOf({ revision: 2, base: "two", change });
  assert.equal(JSON.parse(bytes.toString()).base, "two");
});
