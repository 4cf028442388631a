import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointsForZone } from "./zone-endpoints.ts";

/** The zone of the node, the hints of the endpoints a, b and c, and the endpoints that are used. */
const table: readonly (readonly [
  zone: string | null,
  hints: readonly (readonly string[] | undefined)[],
  used: string,
])[] = [
  [null, [["x"], ["y"], ["y"]], "abc"],
  ["x", [["x"], ["y"], ["y"]], "a"],
  ["y", [["x"], ["y"], ["x", "y"]], "bc"],
  ["z", [["x"], ["y"], ["y"]], "abc"],
  ["x", [["x"], ["y"], undefined], "abc"],
  ["x", [undefined, undefined, undefined], "abc"],
];
for (const [zone, hints, used] of table)
  test(`a node in the zone ${zone ?? "(unknown)"} uses ${used} of endpoints with hints for ${hints.map((one) => one ?? "none").join(" | ")}`, () => {
    const endpoints = hints.map((zones, index) => ({ name: "abc"[index], ...(zones && { zones }) }));
    assert.equal(
      endpointsForZone(endpoints, zone)
        .map(({ name }) => name)
        .join(""),
      used,
    );
  });
