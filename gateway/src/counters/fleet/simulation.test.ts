/** `npm run fuzz -- --only fleet` runs more seeds. */
import { it } from "node:test";
import { fleetFaults, simulateFleets } from "./testing-scenarios.ts";

const promises = {
  calm: "serves no more than the limit and leaves no token unused although messages are lost, repeated and reordered",
  changes: "serves no more than the limit while nodes join and shut down",
  crashes: "serves no more than the limit and what crashed or unreachable nodes had served, when nodes crash",
  restarts: "remembers what was saved when all nodes crash at once",
  partitions: "exceeds limits only by what was served without an owner or by separate owners, and counts it",
};

for (const faults of fleetFaults) {
  it(`a fleet ${promises[faults]}`, (test) => {
    const totals = simulateFleets({ faults, seeds: 125, first: 1 });
    test.diagnostic(JSON.stringify(totals));
  });
}
