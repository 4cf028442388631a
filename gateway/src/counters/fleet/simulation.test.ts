/** `npm run fuzz -- --only fleet` runs more seeds. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { fleetFaults, simulateFleets } from "./testing-scenarios.ts";

const promises = {
  calm: "serves no more than the limit and leaves no token unused although messages are lost, repeated and reordered",
  changes: "serves no more than the limit while nodes join and shut down",
  crashes: "serves no more than the limit and what crashed or unreachable nodes had served, when nodes crash",
  restarts: "remembers what was saved when all nodes crash at once",
  partitions: "exceeds limits only by what was served without an owner or by separate owners, and counts it",
};

it("requests that wait for each other's tokens of two counters are refused before the owner counts as absent", () => {
  assert.equal(simulateFleets({ faults: "calm", seeds: 1, first: 958 }).borrowed, 0);
});

it("a new owner waits for a node that shuts down, although it has the final report of this node for a former view", () => {
  assert.equal(simulateFleets({ faults: "partitions", seeds: 1, first: 504_010 }).beyond, 0);
});

for (const faults of fleetFaults) {
  it(`a fleet ${promises[faults]}`, (test) => {
    const totals = simulateFleets({ faults, seeds: 125, first: 1 });
    test.diagnostic(JSON.stringify(totals));
  });
}
