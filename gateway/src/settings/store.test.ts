import assert from "node:assert/strict";
import { test } from "node:test";
import { adminSettings } from "./admin.ts";
import { configSettings } from "./config.ts";
import { startSettings } from "./start.ts";

test("every command works on the same store where none is named, and that is no cluster", () => {
  const stores = [startSettings, adminSettings, configSettings].map(({ store }) => store.default);
  assert.deepEqual(stores, ["database", "database", "database"]);
});
