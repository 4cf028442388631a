import assert from "node:assert/strict";
import { test } from "node:test";
import { collections, credentialCollections } from "@sluice/model";
import { updatedAtNow } from "./write-operations.ts";

test("every kind of entity has updated_at, except credentials", () => {
  const silent = collections.filter((collection) => !("updated_at" in updatedAtNow(collection)));
  assert.deepEqual(silent, [...credentialCollections]);
});
