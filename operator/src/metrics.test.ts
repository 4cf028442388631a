import assert from "node:assert/strict";
import { test } from "node:test";
import { createOperatorMetrics, registerOperatorGauges } from "./metrics.ts";

const none = () => 0;

for (const [when, term, value] of [
  ["while this operator leads", 7, 1],
  ["while another operator leads", null, 0],
] as const)
  test(`the leader election metric is labelled with the name of the Lease, and is ${value} ${when}`, async () => {
    const { registry } = createOperatorMetrics();
    registerOperatorGauges(registry, {
      revision: none,
      resources: () => ({}),
      problems: none,
      document: { queued: none, workers: 1 },
      status: { queued: none, workers: 8 },
      lease: "sluice-operator-inner",
      term: () => term,
      savedAt: () => null,
      nodes: () => ({ current: 0, lagging: 0, silent: 0 }),
    });
    const text = await registry.getSingleMetricAsString("leader_election_master_status");
    assert.ok(text.includes(`leader_election_master_status{name="sluice-operator-inner"} ${value}`), text);
  });
