import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { makeAuthority } from "../../tools/programs/certificates.ts";
import { createCertificateMetrics, createOperatorMetrics, registerOperatorGauges } from "./metrics.ts";

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
      countersSavedAt: () => null,
      nodes: () => ({ current: 0, lagging: 0, silent: 0 }),
    });
    const text = await registry.getSingleMetricAsString("leader_election_master_status");
    assert.ok(text.includes(`leader_election_master_status{name="sluice-operator-inner"} ${value}`), text);
  });

test("the expiry metric of a certificate shows the certificate that was recorded last", async () => {
  const registry = new Registry();
  const record = createCertificateMetrics(registry);
  const authority = await makeAuthority();
  const notAfters = [2_000_000_000, 2_000_086_400].map((seconds) => new Date(seconds * 1000));
  for (const notAfter of notAfters)
    record("push", (await authority.issue({ name: "operator", usage: "client", notAfter })).certificate);
  const text = await registry.metrics();
  assert.match(text, /^sluice_operator_certificate_expiry_timestamp_seconds\{certificate="push"\} 2000086400$/m);
  assert.doesNotMatch(text, /webhook"/);
});

test("writes of the state are counted from 0, so that an alert on an increase sees the first one", async () => {
  const { registry, savedState } = createOperatorMetrics();
  savedState("failed");
  const text = await registry.getSingleMetricAsString("sluice_operator_state_writes_total");
  assert.match(text, /\{outcome="written"\} 0\n.*\{outcome="failed"\} 1/);
});
