/** Certificates with `acme` on a whole operator, whose CA does not answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, ResourceClient } from "@sluice/crds";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { operatorsOver } from "../saved-state/testing-operator.ts";
import { testStore } from "../saved-state/testing-store.ts";

const { write, start } = await operatorsOver("operator-orders");
write("web", { acme: {}, snis: [{ name: "a.test" }] }, "Certificate");
write("plain", { secretRef: { name: "absent" }, snis: [{ name: "b.test" }] }, "Certificate");

const conditionsOf = async (client: ResourceClient, name: string): Promise<readonly Condition[]> =>
  (await client.get({ kind: "Certificate", namespace: "default", name }))?.status?.conditions ?? [];

const issued = (client: ResourceClient, reason: string) =>
  waitFor(
    async () => (await conditionsOf(client, "web")).find((one) => one.type === "Issued" && one.reason === reason),
    { what: `the condition Issued with the reason ${reason}` },
  );

test("without SLUICE_ACME, the condition Issued says that nothing is ordered", async () => {
  const operator = await start({ store: testStore(), interval: "1h" });
  try {
    const { status, message } = await issued(operator.client, "Disabled");
    assert.equal(status, "False");
    assert.match(message, /set acme\.enabled/);
  } finally {
    await operator.close();
  }
});

test("the condition Issued says that the CA does not answer, and when it is asked again; the Certificate itself is accepted", async () => {
  const port = await freePort();
  const env = { SLUICE_ACME: "true", SLUICE_ACME_DIRECTORIES: `https://127.0.0.1:${port}/dir` };
  const operator = await start({ store: testStore(), interval: "1h", env });
  try {
    const { status, message } = await issued(operator.client, "OrderFailed");
    assert.equal(status, "False");
    assert.match(message, new RegExp(`no response from 127\\.0\\.0\\.1:${port}.* The next attempt is at 20\\d\\d-`));
    const conditions = await conditionsOf(operator.client, "web");
    assert.equal(conditions.find(({ type }) => type === "Accepted")?.status, "True");
    const others = await waitFor(async () => (await conditionsOf(operator.client, "plain")).map(({ type }) => type), {
      what: "the conditions of the other Certificate",
    });
    assert.ok(!others.includes("Issued"));
    const metrics = await operator.metrics();
    assert.match(metrics, /^sluice_acme_orders_total\{kind="first",result="failed"\} 1$/m);
    assert.match(metrics, /^sluice_acme_certificate_failures\{certificate="default\/web"\} 1$/m);
  } finally {
    await operator.close();
  }
});

test("an operator with an invalid directory of a CA does not start", async () => {
  const env = { SLUICE_ACME: "true", SLUICE_ACME_DIRECTORIES: "http://ca.test/dir" };
  await assert.rejects(
    start({ store: testStore(), interval: "1h", env }),
    /SLUICE_ACME_DIRECTORIES: http:\/\/ca\.test\/dir/,
  );
});
