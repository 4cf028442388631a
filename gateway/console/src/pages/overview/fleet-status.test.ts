import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetGauges } from "../../metrics/node-gauges.ts";
import { nodeRows, type StatusBody, systemProblems } from "./fleet-status.ts";

const noGauges: FleetGauges = {
  nodes: new Map(),
  unscraped: [],
  entities: new Map(),
  missingPlugins: new Set(),
};
type Fleet = NonNullable<NonNullable<StatusBody["sluice"]>["fleet"]>;
const statusOf = (fleet: Partial<Fleet>, more: object = {}): StatusBody => ({
  sluice: {
    version: "1",
    store: "database",
    fleet: { reachable: true, nodes: [{ node: "a", address: "n1" }], ...fleet },
    ...more,
  },
});

const table: readonly (readonly [
  what: string,
  status: StatusBody,
  gauges: Partial<FleetGauges>,
  titles: readonly string[],
])[] = [
  ["nothing about a node that serves", statusOf({}), {}, []],
  ["a silent node", statusOf({ silent: ["n1"] }), {}, ["The node n1 is silent"]],
  ["a late node", statusOf({ lagging: ["n1"] }), {}, ["The node n1 is late"]],
  [
    "a node that refused the configuration",
    statusOf({}),
    { nodes: new Map([["a", { isConfigCurrent: false }]]) },
    ["The node n1 serves an old configuration"],
  ],
  ["that no node is known", statusOf({ nodes: [] }), {}, ["No node is known"]],
  [
    "that the operator does not answer",
    statusOf({ reachable: false, nodes: [] }),
    {},
    ["The state of the nodes is unknown"],
  ],
  ["a store that cannot be read", statusOf({}, { unread: ["no connection"] }), {}, ["Entities cannot be read"]],
  ["a missing plugin", statusOf({}), { missingPlugins: new Set(["greet"]) }, ["The plugin greet is missing"]],
  ["a node without metrics", statusOf({}), { unscraped: ["n1"] }, ["The metrics of n1 are missing"]],
];
for (const [what, status, gauges, titles] of table) {
  test(`the overview reports ${what}`, () => {
    const all = { ...noGauges, ...gauges };
    assert.deepEqual(
      systemProblems(status, nodeRows(status, all), all).map(({ title }) => title),
      titles,
    );
  });
}

test("the overview shows what a silent node reports, and the remedy", () => {
  const problem = { message: "It serves revision 50 of 53; its database does not answer.", remedy: "Restore it." };
  const status = statusOf({ silent: ["n1"], nodes: [{ node: "a", address: "n1", problem }] });
  assert.partialDeepStrictEqual(systemProblems(status, nodeRows(status, noGauges), noGauges), [
    { detail: problem.message, cure: problem.remedy },
  ]);
});
