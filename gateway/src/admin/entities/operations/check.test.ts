import assert from "node:assert/strict";
import { test } from "node:test";
import { collections } from "@sluice/model";
import { updatedAtNow } from "./check.ts";

test("every kind of entity tells when it was changed, except credentials, which have no such member", () => {
  const silent = collections.filter((collection) => !("updated_at" in updatedAtNow(collection)));
  assert.deepEqual(silent, ["keyauth_credentials"]);
});
