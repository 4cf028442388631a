import assert from "node:assert/strict";
import { test } from "node:test";
import { SettingsError } from "@sluice/model";
import { nodeDeploymentOf } from "./fleet-deployments.ts";

const nodeService = { namespace: "sluice", name: "nodes" };

test("the Deployment of the nodes is in the namespace of their Service", () => {
  assert.equal(nodeDeploymentOf({ nodeDeployment: null }, nodeService), null);
  const found = nodeDeploymentOf({ nodeDeployment: "sluice/gateway" }, nodeService);
  assert.deepEqual(found, { namespace: "sluice", name: "gateway" });
});

for (const [nodeDeployment, service, expected] of [
  ["gateway", nodeService, /SLUICE_NODE_DEPLOYMENT: expected namespace\/name, not 'gateway'/],
  ["a/b/c", nodeService, /expected namespace\/name/],
  ["other/gateway", nodeService, /SLUICE_NODE_SERVICE must name the Service of these nodes, in the namespace other/],
  ["sluice/gateway", null, /SLUICE_NODE_SERVICE must name/],
] as const)
  test(`the Deployment ${nodeDeployment} of nodes ${service ? "with" : "without"} a Service is refused`, () =>
    assert.throws(
      () => nodeDeploymentOf({ nodeDeployment }, service),
      (error) => error instanceof SettingsError && expected.test(error.message),
    ));
