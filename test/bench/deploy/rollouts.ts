/** Rollout restarts under load, and what failed meanwhile. */
import { join } from "node:path";
import type { LoadOptions, LoadReport } from "../../e2e/deploy/load.ts";
import { waitFor } from "../../process/index.ts";
import { atMost, type BenchReport } from "../report.ts";
import { type DeployStage, namespace } from "./stage.ts";

export interface Rollout {
  readonly component: string;
  /** From the restart until the pods before are gone. */
  readonly seconds: number;
  readonly requests: number;
  /** Answers other than 200, and requests without an answer. */
  readonly failed: number;
}

/** Makes load until SIGTERM, and then prints its report. */
const loading = (options: LoadOptions): string => `
  import { startLoad } from ${JSON.stringify(join(import.meta.dirname, "../../e2e/deploy/load.ts"))};
  const load = startLoad(${JSON.stringify(options)});
  process.once("SIGTERM", async () => console.log(JSON.stringify(await load.stop())));
  console.log("under way");`;

/** Restarts the pods of a component while requests come. */
export async function rollOut({ cluster, kubectl, key }: DeployStage, component: string): Promise<Rollout> {
  const url = `http://sluice-gateway.${namespace}.svc.cluster.local/users/healthz`;
  const pods = () => kubectl("get", "pods", "-l", `app.kubernetes.io/component=${component}`, "--output=name");
  const old = (await pods()).trim().split("\n");
  const script = loading({ url, headers: { apikey: key } });
  const load = await cluster.start(process.execPath, ["--input-type=module", "--eval", script], {
    name: "the load",
    ready: /under way/,
  });
  const began = performance.now();
  await kubectl("rollout", "restart", `deployment/sluice-${component}`);
  await kubectl("rollout", "status", `deployment/sluice-${component}`, "--timeout=5m");
  const gone = async () => {
    const now = (await pods()).trim().split("\n");
    return old.every((pod) => !now.includes(pod));
  };
  await waitFor(gone, { what: "the old pods to be gone", timeout: 90_000, interval: 500 });
  const seconds = (performance.now() - began) / 1000;
  load.signal("SIGTERM");
  const { statuses, failures }: LoadReport = JSON.parse((await load.waitForOutput(/^\{.*\}$/m))[0]);
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, one) => all + one, 0);
  const requests = sum(statuses) + sum(failures);
  return { component, seconds, requests, failed: requests - (statuses["200"] ?? 0) };
}

const components = ["gateway", "operator", "user-api"] as const;

export async function rollouts(stage: DeployStage): Promise<BenchReport> {
  const all: Rollout[] = [];
  for (const component of components) all.push(await rollOut(stage, component));
  const sum = (of: "requests" | "failed") => all.reduce((total, one) => total + one[of], 0);
  return {
    title: "Rollout restarts under load",
    method:
      "`kubectl rollout restart` of one Deployment of the stack dev after the other (one pod each), while a process on the node asks the user API through the gateway's Service 100 times a second, half of it on connections of their own and half on kept ones. Until the pod before is gone. Failed is every answer but 200, and every request without an answer; a request is sent again where nobody has read it: on a kept connection that had ended (RFC 9112, 9.3.1), and where nobody listened.",
    rows: all.map(({ component, seconds, requests, failed }) => ({
      restarted: component,
      "took, s": Number(seconds.toFixed(1)),
      requests,
      failed,
    })),
    verdicts: [atMost(`failed requests of ${sum("requests")}`, sum("failed"), { bound: 0, unit: "" })],
  };
}
