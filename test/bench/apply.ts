/**
 * The time from the API server's response for an applied Route until both nodes serve it, with many existing Routes:
 * real etcd and API server, the operator and two nodes as processes.
 */
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { createClusterClient, type Resource } from "@sluice/crds";
import { builtProgram } from "../../tools/build/programs.ts";
import { startControlPlane } from "../../tools/cluster/control-plane.ts";
import { freePort, type Process, startProcess, waitFor } from "../../tools/process/index.ts";
import type { BenchReport } from "./report.ts";

const root = resolve(import.meta.dirname, "../..");
const TOKEN = createHash("sha256").update(`${process.pid}`).digest("hex");

const resource = (kind: string, name: string, spec: Resource["spec"]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name, namespace: "default" },
  spec,
});

async function startNode(name: string): Promise<{ process: Process; proxy: number; push: number }> {
  const [proxy, push, status] = [await freePort(), await freePort(), await freePort()];
  const started = await startProcess(await builtProgram("gateway"), ["gateway"], {
    name,
    ready: `http://127.0.0.1:${status}/status`,
    env: {
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_PUSH_LISTEN: `127.0.0.1:${push}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_PUSH_TOKEN: TOKEN,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_LOG_LEVEL: "warn",
    },
  });
  return { process: started, proxy, push };
}

/** Sends requests until the proxy answers 200. Resolves to the milliseconds since `since`; rejects after 10 s. */
async function answered(port: number, path: string, since: number): Promise<number> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    await response.arrayBuffer();
    if (response.status === 200) return performance.now() - since;
    if (performance.now() - since > 10_000) throw new Error(`${path} was not answered within 10 s`);
  }
}

const at = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1));

export async function benchApply({ routes, changes }: { routes: number; changes: number }): Promise<BenchReport> {
  const plane = await startControlPlane();
  const processes: Process[] = [];
  const client = createClusterClient({
    kubeconfig: plane.kubeconfig,
    log: { info() {}, warn: console.warn, error: console.error },
  });
  try {
    await plane.kubectl(["apply", "-f", join(root, "crds")]);
    await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all"]);
    const upstream = await startProcess(process.execPath, [join(import.meta.dirname, "peers/upstream.ts")], {
      name: "upstream",
      ready: /listening on (\d+)/,
    });
    const nodes = [await startNode("node-1"), await startNode("node-2")];
    processes.push(upstream, ...nodes.map((node) => node.process));
    const url = `http://127.0.0.1:${/listening on (\d+)/.exec(upstream.output())?.[1]}`;
    const apply = (made: Resource) => client.apply(made.kind as "Route", made, { manager: "bench" });
    await apply(resource("Service", "up", { url }));
    for (let start = 0; start < routes; start += 20)
      await Promise.all(
        Array.from({ length: Math.min(20, routes - start) }, (_, index) => {
          const path = `/present-${start + index}`;
          return apply(resource("Route", `present-${start + index}`, { serviceRef: { name: "up" }, paths: [path] }));
        }),
      );
    const operatorPort = await freePort();
    processes.push(
      await startProcess(await builtProgram("operator"), [], {
        name: "operator",
        ready: `http://127.0.0.1:${operatorPort}/readyz`,
        env: {
          KUBECONFIG: plane.kubeconfig,
          SLUICE_OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
          SLUICE_NODES: nodes.map(({ push }) => `http://127.0.0.1:${push}`).join(","),
          SLUICE_PUSH_TOKEN: TOKEN,
          SLUICE_LOG_LEVEL: "warn",
        },
      }),
    );
    await waitFor(
      () => Promise.all(nodes.map(({ proxy }) => answered(proxy, `/present-${routes - 1}`, performance.now()))),
      {
        what: "the existing routes to be served",
        timeout: 60_000,
      },
    );
    // The changes are measured only after the statuses of the existing routes have been written.
    await plane.kubectl(["wait", "--for=condition=Programmed", "gwroute", "--all", "--timeout=120s"]);
    const times: number[] = [];
    for (let change = 0; change < changes; change++) {
      const path = `/change-${change}`;
      await apply(resource("Route", `change-${change}`, { serviceRef: { name: "up" }, paths: [path] }));
      const since = performance.now();
      times.push(Math.max(...(await Promise.all(nodes.map(({ proxy }) => answered(proxy, path, since))))));
    }
    times.sort((a, b) => a - b);
    const [p50, p99] = [at(times, 0.5), at(times, 0.99)];
    const verdict = (name: string, value: number, bound: number) =>
      `${name}: ${value} ms (bound ${bound} ms: ${value <= bound ? "met" : "MISSED"})`;
    return {
      title: "From an applied Route to an answered request",
      method: `${changes} Routes applied one after the other with ${routes} Routes present, from the API server's response until both nodes answered 200; operator, nodes, API server and etcd on one machine.`,
      rows: [{ name: "both nodes answer", "p50 ms": p50, "p99 ms": p99, "maximum ms": at(times, 1) }],
      verdicts: [verdict("p50", p50, 100), verdict("p99", p99, 300)],
    };
  } finally {
    for (const running of processes.reverse()) await running.stop();
    await client.close();
    await plane.stop();
  }
}
