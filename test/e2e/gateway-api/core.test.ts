/**
 * Tests of the Gateway API's conformance suite that cover each core feature once, on a cluster with pods. The whole suite
 * is `npm run test:conformance`.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";
import { startInstallation } from "../../../tools/gateway-api/installation.ts";
import { testedVersion } from "../../../tools/gateway-api/report.ts";
import { runSuite, type SuiteResult, suiteLog } from "../../../tools/gateway-api/run-suite.ts";

const tests = [
  "GatewayModifyListeners",
  "GatewayObservedGenerationBump",
  "GatewaySecretReferenceGrantSpecific",
  "GatewayWithAttachedRoutes",
  "GRPCExactMethodMatching",
  "HTTPRouteCrossNamespace",
  "HTTPRouteHeaderMatching",
  "HTTPRouteHTTPSListener",
  "HTTPRouteInvalidCrossNamespaceBackendRef",
  "HTTPRouteInvalidNonExistentBackendRef",
  "HTTPRouteListenerHostnameMatching",
  "HTTPRouteMatching",
  "HTTPRouteMatchingAcrossRoutes",
  "HTTPRouteRedirectHostAndStatus",
  "HTTPRouteReferenceGrant",
  "HTTPRouteRequestHeaderModifier",
  "HTTPRouteSimpleSameNamespace",
  "HTTPRouteWeight",
] as const;

const minutes = 60_000;
let cluster: Cluster | undefined;
let result: SuiteResult | undefined;

before(
  async () => {
    cluster = await startInstallation();
    result = await runSuite(cluster, { only: tests, version: testedVersion() });
  },
  { timeout: 20 * minutes },
);
after(() => cluster?.down());

for (const name of tests)
  test(`${name} of the conformance suite passes`, () => {
    assert.equal(result?.tests.get(name), "passed", `the output of the suite is in ${suiteLog}`);
  });
