/**
 * The suites that one product on a control plane can run one after the other: to start both takes more processor time
 * than most of these suites. Each suite removes its resources.
 */
import { after } from "node:test";
import { backendSuite } from "./backends.ts";
import { clusterBadInputSuite } from "./bad-input.ts";
import { fleetLimitSuite } from "./fleet-limits.ts";
import { ingressSuite } from "./ingress.ts";
import { keptStateSuite } from "./kept.ts";
import { sampleSuite } from "./samples.ts";
import { startSuite } from "./suite.ts";
import { restartSuite } from "./upheaval.ts";

const suite = await startSuite({
  hasUserApi: true,
  operatorEnv: { SLUICE_PUBLISH_SERVICE: "default/gateway" },
  nodeEnv: { SLUICE_PEER_LISTEN: "127.0.0.1:0" },
});
after(() => suite.stop());

sampleSuite(suite);
backendSuite(suite);
ingressSuite(suite);
restartSuite(suite);
fleetLimitSuite(suite);
clusterBadInputSuite(suite);
// Stops the API server at the end.
keptStateSuite(suite);
