import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../../metrics/metrics.ts";
import { createRuntimeMetrics } from "../../../metrics/runtime-metrics.ts";
import { startStatusListener } from "../../../status/listener.ts";
import type { Fleet, FleetNode } from "../../../stores/store.ts";
import { mergeMetrics } from "../../../workers/merge-metrics.ts";
import { nodesMetrics } from "./node-metrics.ts";

async function startNode(nodeId: string, requests: number) {
  const metrics = createMetrics({ compat: false, nodeId, version: "1" });
  const recorder = metrics.recorder({ service: "users", route: "users", consumer: "" });
  for (let n = 0; n < requests; n++) recorder.request(200, "service");
  recorder.latency("requestLatency", 3);
  return startStatusListener(
    {
      state: () => ({ node: nodeId, hash: null, revision: 0, version: "1" }),
      failure: () => null,
      draining: () => false,
      connections: () => ({ accepted: 0, handled: 0, active: 0, reading: 0, writing: 0, waiting: 0, requests: 0 }),
      metrics: mergeMetrics(metrics, {
        workers: async () => null,
        runtime: createRuntimeMetrics({ nodeId, worker: 0 }),
      }),
      refused: async () => [],
      upstreams: () => ({}),
    },
    { host: "127.0.0.1", port: 0 },
  );
}

const fleetOf = (nodes: readonly FleetNode[]): Fleet => ({
  nodes: async () => nodes,
  status: async () => null,
  askPlugin: async () => ({ answered: [], unanswered: [] }),
});

test("the metrics of all nodes are added up, and a node that does not answer is named", async () => {
  const [one, two] = [await startNode("one", 2), await startNode("two", 3)];
  try {
    const { text: pieces, contentType } = await nodesMetrics(
      fleetOf([
        { address: "http://one", status: `http://127.0.0.1:${one.address.port}` },
        { address: "http://two", status: `http://127.0.0.1:${two.address.port}` },
        { address: "http://gone", status: "http://127.0.0.1:1" },
        { address: "http://silent", status: null },
      ]),
    );
    const text = Buffer.concat(await Array.fromAsync(pieces)).toString();
    assert.match(contentType, /^text\/plain/);
    assert.match(text, /^sluice_http_requests_total\{service="users",.*code="200".*\} 5$/m);
    assert.match(text, /^sluice_request_latency_ms_count\{.*\} 2$/m);
    for (const node of ["one", "two"])
      assert.match(text, new RegExp(`^sluice_node_info\\{node_id="${node}".*\\} 1$`, "m"));
    const scraped = [...text.matchAll(/^sluice_node_scraped\{node="(.*)"\} (\d)$/gm)].map(([, node, is]) => [node, is]);
    assert.deepEqual(scraped, [
      ["http://one", "1"],
      ["http://two", "1"],
      ["http://gone", "0"],
      ["http://silent", "0"],
    ]);
  } finally {
    await one.close();
    await two.close();
  }
});

test("without known nodes there is no error, and the metrics name no node", async () => {
  const { text } = await nodesMetrics(fleetOf([]));
  assert.doesNotMatch(Buffer.concat(await Array.fromAsync(text)).toString(), /sluice_node_scraped\{/);
});
