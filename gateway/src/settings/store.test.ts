import assert from "node:assert/strict";
import { test } from "node:test";
import { adminSettings } from "./admin.ts";
import { configSettings } from "./config.ts";
import { startSettings } from "./start.ts";

test("every command has the same default store, and it is not a cluster", () => {
  const stores = [startSettings, adminSettings, configSettings].map(({ store }) => store.default);
  assert.deepEqual(stores, ["database", "database", "database"]);
});
