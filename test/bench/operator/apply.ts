/** Applies new Routes one after the other, and measures the time until both nodes serve each. */
import { atMost, type BenchReport } from "../report.ts";
import { BENCH_MANAGER, populationResource } from "./population.ts";
import { untilServed } from "./proxy-requests.ts";
import { atShare } from "./shares.ts";
import type { PopulatedStage } from "./stage.ts";

export async function measureApply(
  stage: PopulatedStage,
  { applies }: { readonly applies: number },
): Promise<BenchReport> {
  const { nodes, operator } = await stage.running();
  const times: number[] = [];
  const before = operator.cpu();
  for (let at = 0; at < applies; at++) {
    const path = `/fresh-${at}`;
    const made = populationResource("Route", `fresh-${at}`, { serviceRef: { name: "service-0" }, paths: [path] });
    await stage.client.apply("Route", made, { manager: BENCH_MANAGER });
    const since = performance.now();
    times.push(Math.max(...(await Promise.all(nodes.map(({ proxy }) => untilServed({ port: proxy, path }))))) - since);
  }
  const cpu = ((operator.cpu() - before) * 1000) / applies;
  times.sort((one, other) => one - other);
  const [p50, p99] = [atShare(times, 0.5), atShare(times, 0.99)];
  const { routes, services, consumers } = stage.size;
  return {
    title: "From an applied Route to an answered request",
    method: `${applies} Routes applied one after the other, with ${routes} Routes, ${services} Services and ${consumers} Consumers present. The time is measured from the API server's response until both nodes answer 200; a client sends each node a request every millisecond. API server, etcd, operator, nodes and client share the machine.`,
    rows: [
      {
        name: "both nodes answer",
        "p50 ms": p50,
        "p95 ms": atShare(times, 0.95),
        "p99 ms": p99,
        "maximum ms": atShare(times, 1),
        "operator CPU ms/change": Number(cpu.toFixed(1)),
      },
    ],
    verdicts: [atMost("p50", p50, { bound: 30, unit: " ms" }), atMost("p99", p99, { bound: 150, unit: " ms" })],
  };
}
