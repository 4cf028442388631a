import assert from "node:assert/strict";
import { test } from "node:test";
import { adminSettings } from "./commands/admin.ts";
import { configSettings } from "./commands/config.ts";
import { startSettings } from "./commands/start.ts";

test("every command has the same default store, and it is not a cluster", () => {
  const stores = [startSettings, adminSettings, configSettings].map(({ store }) => store.default);
  assert.deepEqual(stores, ["database", "database", "database"]);
});
