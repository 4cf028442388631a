/** Changes one HTTPRoute or one Gateway after the other, and measures the time until both nodes serve each change. */
import type { Resource } from "@sluice/crds";
import { BENCH_MANAGER } from "../operator/population.ts";
import type { MeasuredTarget } from "../operator/proxy-requests.ts";
import { atShare } from "../operator/shares.ts";
import { atMost, type BenchReport } from "../report.ts";
import {
  gatewayAt,
  gatewayName,
  gatewayPortOf,
  httpRoute,
  httpRouteName,
  populationHostOf,
  servicesOf,
} from "./population.ts";
import { type GatewayStage, untilAllServe } from "./stage.ts";

interface Change {
  readonly kind: "HTTPRoute" | "Gateway";
  readonly resource: Resource;
  /** A request that is answered with 200 only after the change. */
  readonly request: Omit<MeasuredTarget, "address">;
}

export async function measureGatewayChanges(
  stage: GatewayStage,
  { changes: count }: { readonly changes: number },
): Promise<BenchReport> {
  const { nodes, operator } = await stage.running();
  const { gateways, routes } = stage.size;
  const services = servicesOf(stage.size);
  const writes = () => operator.metric("sluice_operator_status_writes_total");

  async function measure(name: string, change: (at: number) => Change, turns: number) {
    const times: number[] = [];
    const [cpuBefore, before] = [operator.cpu(), await writes()];
    for (let at = 0; at < turns; at++) {
      const { kind, resource, request } = change(at);
      await stage.client.apply(kind, resource, { manager: BENCH_MANAGER });
      const since = performance.now();
      times.push((await untilAllServe(nodes, request)) - since);
    }
    const cpu = ((operator.cpu() - cpuBefore) * 1000) / turns;
    await operator.untilSettled();
    times.sort((one, other) => one - other);
    const [p50, p99] = [atShare(times, 0.5), atShare(times, 0.99)];
    const row = {
      name,
      changes: turns,
      "p50 ms": p50,
      "p95 ms": atShare(times, 0.95),
      "p99 ms": p99,
      "maximum ms": atShare(times, 1),
      "operator CPU ms/change": Number(cpu.toFixed(1)),
      "status writes/change": Number((((await writes()) - before) / turns).toFixed(2)),
    };
    return {
      row,
      verdicts: [
        atMost(`${name}, p50`, p50, { bound: 50, unit: " ms" }),
        atMost(`${name}, p99`, p99, { bound: 250, unit: " ms" }),
      ],
    };
  }

  /** Another path for an HTTPRoute. */
  function otherPath(turn: number): Change {
    const gateway = gatewayName((turn * 7) % gateways);
    const at = (turn * 11) % routes;
    const path = `/changed-${turn}`;
    const port = gatewayPortOf((turn * 7) % gateways);
    return {
      kind: "HTTPRoute",
      resource: httpRoute({ gateway, at, path, services }),
      request: { port, host: populationHostOf(at), path },
    };
  }

  /** A new HTTPRoute. */
  function added(turn: number): Change {
    const gateway = gatewayName((turn * 7) % gateways);
    const at = routes + turn;
    const path = `/${httpRouteName(gateway, at)}`;
    const port = gatewayPortOf((turn * 7) % gateways);
    return {
      kind: "HTTPRoute",
      resource: httpRoute({ gateway, at, services }),
      request: { port, host: populationHostOf(at), path },
    };
  }

  /** A new Gateway for the HTTPRoutes of `unattached`. */
  function addedGateway(turn: number): Change {
    const name = `added-${turn}`;
    const port = gatewayPortOf(gateways) + 1 + turn;
    const path = `/${httpRouteName(name, 0)}`;
    return { kind: "Gateway", resource: gatewayAt(name, port), request: { port, host: populationHostOf(0), path } };
  }

  const few = Math.ceil(count / 10);
  for (let turn = 0; turn < few; turn++)
    await stage.client.apply("HTTPRoute", httpRoute({ gateway: `added-${turn}`, at: 0, services }), {
      manager: BENCH_MANAGER,
    });
  const parts = [
    await measure("another path of an HTTPRoute", otherPath, count),
    await measure("a new HTTPRoute", added, count),
    await measure("a new Gateway with one HTTPRoute", addedGateway, few),
  ];
  return {
    title: "From a change to an answered request",
    method: `${stage.population}. The changes are applied one after the other. The time is measured from the API server's response until both nodes answer 200; a client sends each node a request every millisecond. API server, etcd, operator, nodes and client share the machine.`,
    rows: parts.map(({ row }) => row),
    verdicts: parts.flatMap(({ verdicts }) => verdicts),
  };
}
