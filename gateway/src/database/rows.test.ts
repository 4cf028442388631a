import assert from "node:assert/strict";
import { test } from "node:test";
import { type Collection, collections } from "@sluice/model";
import { entityOfRow } from "./rows.ts";

const defaults: readonly (readonly [Collection, member: string, value: unknown])[] = [
  ["services", "retries", 5],
  ["services", "enabled", true],
  ["services", "tags", null],
  ["routes", "protocols", ["http", "https"]],
  ["upstreams", "algorithm", "round-robin"],
];

for (const [collection, member, value] of defaults)
  test(`the member ${member} of ${collection} has its default if the column is null, because older nodes do not write new columns`, () => {
    const read = () => (entityOfRow(collection, {}) as unknown as Record<string, unknown>)[member];
    assert.deepEqual(read(), value);
    if (Array.isArray(value)) assert.notEqual(read(), read(), "not shared between entities");
  });

test("a null reference to a Service or a Route stays null", () => {
  for (const collection of collections)
    for (const [member, value] of Object.entries(entityOfRow(collection, {})))
      if (member === "service" || member === "route") assert.equal(value, null, `${collection}.${member}`);
});
