/** Clocks of the operator and of a node that are wrong by ten minutes, from the start or suddenly. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { changeDuringFault } from "./change-during-fault.ts";
import { type FaultEnvironment, startFaultEnvironment } from "./fault-environment.ts";

const MINUTES = 10 * 60_000;
const folder = temporaryFolder("clock");
after(folder.remove);
const file = `${folder.path}/off`;
writeFileSync(file, "0");

let environment: FaultEnvironment;
before(async () => {
  const flags = ["--import", new URL("./shifted-clock.ts", import.meta.url).pathname];
  environment = await startFaultEnvironment({ flags, operator: { CLOCK_OFF: file }, second: { CLOCK_OFF: file } });
});
after(() => environment?.close());

/** Sets by how many milliseconds the clocks of the operator and the second node are wrong. */
function set(off: number): void {
  writeFileSync(file, `${off}`);
  for (const { process } of [environment.operator, environment.nodes[1]])
    if (!process.exit()) process.signal("SIGUSR2");
}

for (const [what, off] of [
  ["fast", MINUTES],
  ["slow", -MINUTES],
] as const) {
  test(`changes take effect if operator and node start with clocks that are ten minutes ${what}`, () =>
    changeDuringFault(environment, {
      loaded: [0],
      async fault(change) {
        await Promise.all([environment.operator.process.stop(), environment.nodes[1].process.stop()]);
        set(off);
        await Promise.all([environment.operator.start(), environment.nodes[1].start()]);
        await change();
        // The renewal's timestamp proves that the operator uses the shifted clock.
        await waitFor(
          async () => {
            const renewed = ["get", "lease", "sluice-operator", "-o", "jsonpath={.spec.renewTime}"];
            const wrong = Date.parse(await environment.plane.kubectl(renewed)) - Date.now();
            return Math.abs(wrong - off) < 60_000;
          },
          { what: "a Lease that was renewed by the shifted clock" },
        );
      },
    }));

  test(`clocks that suddenly become ten minutes ${what} cause no status write and no change of the leader`, async () => {
    set(0);
    await changeDuringFault(environment, {
      async fault(change) {
        await waitFor(async () => (await environment.operator.metric("workqueue_depth")) === 0, {
          what: "the operator to settle",
        });
        const { term } = await environment.operator.status();
        const written = () => environment.operator.metric("sluice_operator_status_writes_total");
        const before = await written();
        set(off);
        await pause(3000);
        assert.equal((await written()) - before, 0);
        assert.equal((await environment.operator.status()).term, term);
        await change();
      },
    });
  });

  test(`if a node dies and the operator's clock becomes ten minutes ${what}, a change is Programmed within ten seconds`, async () => {
    set(0);
    await changeDuringFault(environment, {
      loaded: [0],
      async fault(change) {
        const [, second] = environment.nodes;
        await second.process.kill9();
        set(off);
        await change();
        await environment.plane.kubectl(["wait", "--for=condition=Programmed", "gwroute/added", "--timeout=10s"]);
        await second.start();
      },
    });
  });
}
