import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDocument, emptySnapshot, type Snapshot } from "@sluice/model";
import { MissingPlugins } from "./missing-plugins.ts";

const closed = { _sluice: { unavailable: "not enabled" } };
const route = { id: "00000000-0000-4000-8000-000000000009", paths: ["/"] };
const named = (number: number, name: string, members: object = closed) => ({
  id: `00000000-0000-4000-8000-00000000000${number}`,
  name,
  ...members,
});
const served = (...plugins: readonly object[]): Snapshot =>
  applyDocument(emptySnapshot, { _format_version: "3.0", routes: [route], plugins }).value ?? assert.fail();

test("the missing plugins are those that the served document enables and the node does not have", () => {
  const missing = new MissingPlugins();
  const steps: readonly (readonly [snapshot: Snapshot, names: readonly string[]])[] = [
    [emptySnapshot, []],
    [
      served(
        named(1, "words", { ...closed, route: { id: route.id } }),
        named(2, "words"),
        named(3, "acme"),
        named(4, "cors", {}),
      ),
      ["acme", "words"],
    ],
    [served(named(2, "words")), ["words"]],
    [served(named(2, "words", { ...closed, enabled: false })), []],
    [served(named(2, "key-auth")), []],
    [emptySnapshot, []],
  ];
  for (const [snapshot, names] of steps) {
    missing.countMissing(snapshot);
    assert.deepEqual(missing.names, names);
  }
});
