/** Limits that the nodes of the release enforce together, while nodes are replaced. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { callersNamespace } from "./chart-callers-pod.ts";
import { chartLoadText } from "./chart-load.ts";
import { type ChartScene, minutes, proxy } from "./chart-scene.ts";
import { release } from "./helm.ts";

/** More requests than are sent while the nodes are replaced. */
const LIMIT = 5000;
const url = `${proxy}/counted?takes=1`;

/** The counters are those of the callers' address. */
const resources = `
apiVersion: sluice.dev/v1alpha1
kind: Route
metadata: { name: counted }
spec: { serviceRef: { name: slow }, paths: [/counted] }
---
apiVersion: sluice.dev/v1alpha1
kind: Plugin
metadata: { name: counted }
spec:
  plugin: rate-limiting
  targetRefs: [{ kind: Route, name: counted }]
  config: { year: ${LIMIT}, policy: fleet }
`;

export function fleetLimits(scene: () => ChartScene): void {
  test("while the nodes are replaced, exactly as many requests are admitted as the limit of the fleet allows", {
    timeout: 4 * minutes,
  }, async (t: TestContext) => {
    const { callers, cluster, kubectl, podsOf, statusOf } = scene();
    await callers.serve();
    await cluster.kubectl(["apply", "--namespace", callersNamespace, "--filename", "-"], resources);
    // Requests of the machine have a counter of their own.
    await waitFor(async () => (await statusOf("/counted?takes=1")) === 200, { what: "the route to be served" });
    const endFirst = await callers.load({ url, headers: {}, every: 50 });
    await kubectl("rollout", "restart", `deployment/${release}-gateway`);
    await kubectl("rollout", "status", `deployment/${release}-gateway`, "--timeout=2m");
    await waitFor(async () => (await podsOf("gateway")).length === 2, {
      what: "the old pods to be removed",
      timeout: 90_000,
      interval: 500,
    });
    const first = await endFirst();
    const endSecond = await callers.load({ url, headers: {}, every: 2 });
    let asked = 0;
    await waitFor(
      async () => {
        const { status } = await callers.ask(url);
        if (status === 200) asked += 1;
        return status === 429;
      },
      { what: "the limit to be reached", timeout: minutes, interval: 500 },
    );
    const second = await endSecond();
    const loads = [first, second];
    t.diagnostic(loads.map(chartLoadText).join("; "));
    assert.deepEqual(
      loads.map(({ failures }) => failures),
      [{}, {}],
    );
    assert.deepEqual(Object.keys(first.statuses), ["200"]);
    const admitted = loads.map(({ statuses }) => Number(statuses["200"] ?? 0));
    assert.equal(asked + admitted.reduce((sum, one) => sum + one, 0), LIMIT);
  });
}
