/** Rollout restarts under load, and the requests that failed during these restarts. */
import { join } from "node:path";
import { waitFor } from "../../../tools/process/index.ts";
import { type CallLoadOptions, keptAtATime, type LoadReport } from "../../e2e/deploy/load.ts";
import { atMost, type BenchReport } from "../report.ts";
import { type DeployStage, pulumiNamespace } from "./stage.ts";

export interface Rollout {
  readonly component: string;
  /** From the restart until the old pods are gone. */
  readonly seconds: number;
  readonly requests: number;
  /** Responses other than 200, requests without a response, and refused connections. */
  readonly failed: number;
  /** Requests sent again because their keep-alive connection closed before the first byte of a response. */
  readonly repeated: number;
  /** The number of keep-alive connections that the load opened. */
  readonly connections: number;
}

/** The text of a module that generates load until SIGTERM, then prints the load's report. */
const loading = (options: CallLoadOptions): string => `
  import { startLoad } from ${JSON.stringify(join(import.meta.dirname, "../../e2e/deploy/load.ts"))};
  const load = startLoad(${JSON.stringify(options)});
  process.once("SIGTERM", async () => console.log(JSON.stringify(await load.stop())));
  console.log("under way");`;

/** Restarts the pods of a component under load, and counts the load's requests. */
export async function rollOut({ cluster, kubectl, key }: DeployStage, component: string): Promise<Rollout> {
  const url = `http://sluice-gateway.${pulumiNamespace}.svc.cluster.local/users/healthz`;
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
  await waitFor(gone, { what: "the old pods to be removed", timeout: 90_000, interval: 500 });
  const seconds = (performance.now() - began) / 1000;
  load.signal("SIGTERM");
  const report: LoadReport = JSON.parse((await load.waitForOutput(/^\{.*\}$/m))[0]);
  const { statuses, failures, refused, repeated, connections } = report;
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, one) => all + one, 0);
  const requests = sum(statuses) + sum(failures);
  const failed = requests - (statuses["200"] ?? 0) + refused.length;
  return { component, seconds, requests, failed, repeated: repeated.length, connections };
}

const components = ["gateway", "operator", "user-api"] as const;

/**
 * The maximum number of requests sent again while the component restarts. Each component has one pod. Only the
 * gateway's pod closes connections of the load, each once and during at most one request.
 */
const mostRepeated = (component: string): number => (component === "gateway" ? keptAtATime : 0);

export async function measureRollouts(stage: DeployStage): Promise<BenchReport> {
  const all: Rollout[] = [];
  for (const component of components) all.push(await rollOut(stage, component));
  const sum = (of: "requests" | "failed") => all.reduce((total, one) => total + one[of], 0);
  return {
    title: "Rollout restarts under load",
    method: `\`kubectl rollout restart\` of each Deployment of the dev stack in turn (one pod each). Meanwhile a process on the node sends 100 requests a second to the user API through the gateway's Service, half of them on new connections and half on at most ${keptAtATime} persistent connections. A restart ends when the previous pod is gone. Failed requests are responses other than 200, requests without a response, and refused connections. A request is sent again, once and on a new connection, if its persistent connection ended before the first byte of the response (RFC 9110, 9.2.2); such requests are counted separately. This benchmark cannot show that no upstream had read such a request; the tests of the chart verify this.`,
    rows: all.map(({ component, seconds, requests, failed, repeated, connections }) => ({
      restarted: component,
      "took, s": Number(seconds.toFixed(1)),
      requests,
      failed,
      "persistent connections": connections,
      "of these ended during a request, which was sent again": repeated,
    })),
    verdicts: [
      atMost(`failed requests of ${sum("requests")}`, sum("failed"), { bound: 0, unit: "" }),
      ...all.map(({ component, repeated }) =>
        atMost(`requests sent again, ${component}`, repeated, { bound: mostRepeated(component), unit: "" }),
      ),
    ],
  };
}
