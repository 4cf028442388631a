/** How often nodes are polled for the document that they run, and which nodes count as silent. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { NodeReport } from "@sluice/model";
import type { ConnectOptions } from "./node-client.ts";
import { SILENT_AFTER } from "./publisher.ts";
import { testPublisher } from "./testing-publisher.ts";

const state: NodeReport = { node: "n", hash: null, revision: 0, version: "0" };

/** Nodes that answer unless they are down or stuck, on a clock that the test controls. */
async function scene(t: TestContext, count: number) {
  const asked: string[] = [];
  const down = new Set<string>();
  const stuck = new Set<string>();
  const connections = new Map<string, ConnectOptions>();
  const answer = (address: string) => {
    asked.push(address);
    if (stuck.has(address)) return new Promise<NodeReport>(() => {});
    return down.has(address) ? Promise.reject(new Error("connection refused")) : Promise.resolve(state);
  };
  const { publisher, settle, pass } = await testPublisher(t, count, (address, options) => {
    connections.set(address, options);
    const ask = () => answer(address);
    return { state: ask, put: ask, patch: ask };
  });
  return {
    asked,
    down,
    stuck,
    silent: () => publisher.acknowledgement(1).silent,
    breakConnection: async (address: string) => {
      connections.get(address)?.onDisconnect?.();
      await settle();
    },
    pass,
  };
}

const rates: readonly (readonly [nodes: number, least: number, most: number])[] = [
  [2, 100, 120],
  [25, 1000, 1500],
  [500, 1000, 1600],
];
for (const [nodes, least, most] of rates)
  test(`${nodes} nodes together are polled between ${least} and ${most} times in half a minute`, async (t) => {
    const { asked, pass } = await scene(t, nodes);
    const first = asked.length;
    assert.equal(first, nodes, "each node is polled as soon as it is found");
    await pass(30_000, 250);
    assert.ok(asked.length - first >= least && asked.length - first <= most, `${asked.length - first} polls`);
  });

test("a node that has not been polled for more than two seconds, because there are many nodes, is not silent", async (t) => {
  const { pass, silent } = await scene(t, 500);
  await pass(SILENT_AFTER + 500);
  assert.deepEqual(silent(), []);
});

test("a node that leaves a poll unanswered is silent two seconds later", async (t) => {
  const { pass, silent, stuck, breakConnection } = await scene(t, 500);
  stuck.add("http://node-7");
  await breakConnection("http://node-7");
  await pass(SILENT_AFTER);
  assert.deepEqual(silent(), []);
  await pass(100);
  assert.deepEqual(silent(), ["http://node-7"]);
});

test("a node whose connection has closed is polled at once: another process may have its address", async (t) => {
  const { asked, breakConnection } = await scene(t, 500);
  asked.length = 0;
  await breakConnection("http://node-3");
  assert.deepEqual(asked, ["http://node-3"]);
});

test("an unreachable node is polled often at first, and every five seconds in the end", async (t) => {
  const { asked, pass, down, breakConnection } = await scene(t, 1);
  down.add("http://node-0");
  await breakConnection("http://node-0");
  asked.length = 0;
  await pass(1000);
  assert.ok(asked.length >= 4, `${asked.length} polls in the first second`);
  await pass(60_000);
  asked.length = 0;
  await pass(60_000);
  assert.ok(asked.length >= 11 && asked.length <= 13, `${asked.length} polls in a minute`);
});
