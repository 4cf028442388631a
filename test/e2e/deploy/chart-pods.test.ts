/**
 * The charts, installed by Helm on a cluster with real pods. The tests run in order on one release; each module
 * contains some of them.
 */
import { after, before, describe } from "node:test";
import { adminTests } from "./chart-admin.ts";
import { badInput } from "./chart-bad-input.ts";
import { awayFromEverybody, killedNode } from "./chart-crashes.ts";
import { dedicatedNodes } from "./chart-dedicated-nodes.ts";
import { fleetLimits } from "./chart-fleet-limits.ts";
import { graphqlOnPods } from "./chart-graphql.ts";
import { installation, removal } from "./chart-install.ts";
import { metricsTests } from "./chart-metrics.ts";
import { pastedBlocks } from "./chart-pages.ts";
import { pluginImages } from "./chart-plugins.ts";
import { chartRollouts } from "./chart-rollouts.ts";
import { type ChartScene, minutes, startChartScene } from "./chart-scene.ts";
import { standaloneImage } from "./chart-standalone.ts";
import { rightsTests } from "./rights.ts";

describe("Helm on a cluster with pods", () => {
  let started: ChartScene | undefined;
  const scene = (): ChartScene => {
    if (started === undefined) throw new Error("there is no cluster");
    return started;
  };
  before(
    async () => {
      started = await startChartScene();
    },
    { timeout: 5 * minutes },
  );
  after(() => started?.end());

  standaloneImage(scene);
  installation(scene);
  pastedBlocks(scene);
  adminTests(scene);
  // Kubernetes delays each further restart of a container for longer. `chartRollouts` replaces the pods of all nodes,
  // so it runs right after `killedNode`.
  killedNode(scene);
  chartRollouts(scene);
  metricsTests(scene);
  fleetLimits(scene);
  graphqlOnPods(scene);
  badInput(scene);
  // The plugin is removed with the release in `removal`, so no rollout is needed to remove it.
  pluginImages(scene);
  rightsTests(scene);
  removal(scene);
  // The chart creates GatewayClasses only if the cluster has the CRDs of the Gateway API, which `rightsTests` installs.
  dedicatedNodes(scene);
  awayFromEverybody(scene);
});
