/** Memory of each pod: idle, with many routes, and after a restart with these routes. */
import { setTimeout as pause } from "node:timers/promises";
import { atMost, type BenchReport } from "../report.ts";
import { memoryOfPods, type PodMemory } from "./pods.ts";
import { applyRoutes } from "./population.ts";
import { rollOut } from "./rollouts.ts";
import type { DeployStage } from "./stage.ts";

/** The maximum percentage of its limit that a pod may use; the rest is reserve. */
const BOUND = 75;
/** Seconds of rest before memory is measured. */
const REST = 30;

/** The components that hold the configuration, and are therefore restarted. */
const restarted = ["operator", "gateway", "admin"] as const;

export async function measureReleaseMemory(
  stage: DeployStage,
  { routes }: { readonly routes: number },
): Promise<BenchReport> {
  const sample = async () => {
    await pause(REST * 1000);
    return memoryOfPods(stage);
  };
  const atRest = await sample();
  const { applied, programmed } = await applyRoutes(stage, routes);
  const withRoutes = await sample();
  const failed: number[] = [];
  for (const component of restarted) failed.push((await rollOut(stage, component)).failed);
  const started = await sample();
  const rows = atRest.map(({ component, workingSet, limit }) => {
    const [then, last] = [of(withRoutes, component), of(started, component)];
    const most = Math.max(of(atRest, component).peak, then.peak, last.peak);
    return {
      pod: component,
      "at rest, MB": Math.round(workingSet),
      [`${routes} routes, MB`]: Math.round(then.workingSet),
      "restarted with them, MB": Math.round(last.workingSet),
      "peak resident, MB": Math.round(most),
      "limit, MB": limit,
      share: share(most, limit),
    };
  });
  const restarts = [...atRest, ...withRoutes, ...started].reduce((sum, one) => sum + one.restarts, 0);
  return {
    title: "Memory of the pods",
    method: `The dev stack, one pod of each part, with the limits of the chart. Working set from the kubelet's /stats/summary (the pod's control group without inactive file cache), ${REST} s after each of three events: the start (at rest); ${routes} Routes and as many Services were applied, each by its own request, and are Programmed (written in ${applied.toFixed(0)} s, all Programmed after ${programmed.toFixed(0)} s); ${restarted.join(", ")} were restarted with these Routes under load. Peak resident: the maximum resident memory of the pod's largest process (VmHWM) over the whole run, and its share of the limit.`,
    rows: rows.map(({ share, ...row }) => ({ ...row, "share of limit, %": Math.round(share) })),
    verdicts: [
      ...rows.map((row) => atMost(`${row.pod}, peak share of its limit`, row.share, { bound: BOUND, unit: " %" })),
      atMost("restarted containers", restarts, { bound: 0, unit: "" }),
      atMost(
        `failed requests while ${restarted.join(", ")} were restarted with ${routes} Routes`,
        failed.reduce((sum, one) => sum + one, 0),
        { bound: 0, unit: "" },
      ),
    ],
  };
}

const share = (most: number, limit: number): number => (100 * most) / limit;

function of(all: readonly PodMemory[], component: string): PodMemory {
  const found = all.find((one) => one.component === component);
  if (found === undefined) throw new Error(`the pod of ${component} is gone`);
  return found;
}
