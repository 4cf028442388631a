/** Limits that the nodes of the product enforce together, without Redis. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { getUrl, type NamedUpstream, startNamedUpstream } from "../client.ts";
import { resourceObject, routeObject, serviceObject } from "../resources.ts";
import type { Suite } from "./suite.ts";

const LIMIT = 20;

export function fleetLimitSuite(suite: Suite): void {
  describe("a limit of the whole fleet", () => {
    after(() => suite.clear());
    const { chosen } = suite;
    const nodes = [`http://${chosen.proxy}`, `http://${chosen.proxy2}`];

    let upstream: NamedUpstream;
    after(() => upstream?.close());
    before(async () => {
      upstream = await startNamedUpstream("limited");
      const config = { year: LIMIT, policy: "fleet" };
      const objectsOf = (name: string) => [
        serviceObject(name, upstream.port),
        routeObject(name),
        resourceObject("Plugin", name, { plugin: "rate-limiting", targetRefs: [{ kind: "Route", name }], config }),
      ];
      const names = ["burst", "node-replaced", "operator-replaced", "nodes-replaced"];
      await suite.apply(...names.flatMap(objectsOf));
      await suite.programmed(...names.flatMap((name) => [`gwroute/${name}`, `gwplugin/${name}`]));
    });

    /** Sends requests to one node after the other, all at the same time. Resolves to the number of each status. */
    async function statusesOf(path: string, count: number): Promise<Readonly<Record<string, number>>> {
      const urls = Array.from({ length: count }, (_, at) => `${nodes[at % nodes.length]}${path}`);
      const answers = await Promise.all(urls.map((url) => getUrl(url)));
      return Object.fromEntries(
        [...Map.groupBy(answers, ({ status }) => `${status}`)].map(([status, those]) => [status, those.length]),
      );
    }

    /** The epoch of the view that each node has adopted. */
    const epochs = (): Promise<readonly number[]> =>
      Promise.all(
        [chosen.status, chosen.status2].map(async (status) => {
          const { sluice } = (await getUrl(`http://${status}/status`)).body as {
            readonly sluice: { readonly fleet: { readonly epoch: number } };
          };
          return sluice.fleet.epoch;
        }),
      );

    test("admits exactly its number of requests, however they are spread over the nodes", async () => {
      assert.deepEqual(await statusesOf("/burst", 3 * LIMIT), { 200: LIMIT, 429: 2 * LIMIT });
    });

    test("holds after a node was stopped and another process took its place", async () => {
      assert.deepEqual(await statusesOf("/node-replaced", LIMIT / 2), { 200: LIMIT / 2 });
      await suite.terminate("gateway-2");
      await suite.start("gateway-2");
      await waitFor(async () => (await getUrl(`http://${chosen.status2}/status/ready`)).status === 200, {
        what: "the new process to be ready",
        timeout: 20_000,
      });
      assert.deepEqual(await statusesOf("/node-replaced", 2 * LIMIT), { 200: LIMIT / 2, 429: LIMIT + LIMIT / 2 });
    });

    test("holds while no operator runs, and after another one has started", async () => {
      assert.deepEqual(await statusesOf("/operator-replaced", LIMIT / 4), { 200: LIMIT / 4 });
      await suite.kill9("operator");
      assert.deepEqual(await statusesOf("/operator-replaced", LIMIT / 4), { 200: LIMIT / 4 });
      const before = await epochs();
      await suite.start("operator");
      await waitFor(async () => (await epochs()).every((epoch, at) => epoch > (before[at] ?? 0)), {
        what: "a view of the new operator on both nodes",
        timeout: 20_000,
      });
      assert.deepEqual(await statusesOf("/operator-replaced", 2 * LIMIT), { 200: LIMIT / 2, 429: LIMIT + LIMIT / 2 });
    });

    test("holds after all nodes were killed at once, by what the operator keeps", async () => {
      assert.deepEqual(await statusesOf("/nodes-replaced", LIMIT / 2 - 1), { 200: LIMIT / 2 - 1 });
      const since = Date.now() / 1000;
      assert.deepEqual(await statusesOf("/nodes-replaced", 1), { 200: 1 });
      const name = "sluice_operator_fleet_counters_timestamp_seconds";
      await waitFor(
        async () => {
          const text = String((await getUrl(`http://${chosen.operator}/metrics`)).body);
          return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]) > since;
        },
        { what: "the operator to keep the counter", timeout: 20_000 },
      );
      const processes = ["gateway-1", "gateway-2"] as const;
      await Promise.all(processes.map((each) => suite.kill9(each)));
      await Promise.all(processes.map((each) => suite.start(each)));
      await waitFor(
        async () => {
          const all = [chosen.status, chosen.status2].map((status) => getUrl(`http://${status}/status/ready`));
          return (await Promise.all(all)).every(({ status }) => status === 200);
        },
        { what: "the new processes to be ready", timeout: 20_000 },
      );
      const { 200: admitted = 0 } = await statusesOf("/nodes-replaced", 2 * LIMIT);
      // Tokens that the killed nodes held are lost.
      assert.ok(admitted > 0 && admitted <= LIMIT / 2, `${admitted}`);
    });
  });
}
