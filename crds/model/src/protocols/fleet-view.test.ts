import assert from "node:assert/strict";
import { test } from "node:test";
import { isPeerReport, isPushView } from "./fleet-view.ts";

const peer = { name: "a", port: 8006, epoch: 0, state: "present" };
const node = { name: "a", host: "10.0.0.1", port: 8006 };
const view = { epoch: 1, members: [node], leaving: [] };

for (const [what, value, valid] of [
  ["a report", peer, true],
  ["a report of an unknown state", { ...peer, state: "asleep" }, false],
  ["a report without a port", { ...peer, port: 0 }, false],
  ["a report with a name that is too long", { ...peer, name: "x".repeat(254) }, false],
  ["no object", null, false],
] as const)
  test(`${what} is ${valid ? "valid" : "invalid"} as the report of a node`, () =>
    assert.equal(isPeerReport(value), valid));

for (const [what, value, valid] of [
  ["a view", view, true],
  ["a view with a term", { ...view, term: 1 }, true],
  ["a view with a negative epoch", { ...view, epoch: -1 }, false],
  ["a view without a list", { ...view, leaving: undefined }, false],
  ["a view of a node without a host", { ...view, members: [{ ...node, host: "" }] }, false],
  ["a view of a node with an invalid port", { ...view, leaving: [{ ...node, port: 65_536 }] }, false],
  ["a view of too many nodes", { ...view, members: Array.from({ length: 4097 }, () => node) }, false],
  ["a list", [view], false],
] as const)
  test(`${what} is ${valid ? "valid" : "invalid"} as a view`, () => assert.equal(isPushView(value), valid));
