/**
 * Many HTTPRoutes attach to a Gateway at once: because the Gateway is created after them, and because they are created
 * together.
 */
import type { Resource } from "@sluice/crds";
import { cpuSeconds } from "../cpu.ts";
import { BENCH_MANAGER, writeResourcesInParallel } from "../operator/population.ts";
import type { MeasuredOperator } from "../operator/stage.ts";
import { atMost, type BenchReport } from "../report.ts";
import { gatewayAt, gatewayPortOf, httpRoute, httpRouteName, populationHostOf, servicesOf } from "./population.ts";
import { type GatewayStage, untilAllServe } from "./stage.ts";

/** The Gateway that is created after its HTTPRoutes. */
const LATE = "late";
/** The Gateway that is created before its HTTPRoutes. */
const EARLY = "early";
/** Milliseconds between two requests to a node: more requests would take CPU from the operator and the nodes. */
const INTERVAL = 10;
/** As many as the operator writes at a time. */
const PARALLEL_STATUSES = 4;

export async function measureBurst(stage: GatewayStage, { routes }: { readonly routes: number }): Promise<BenchReport> {
  const services = servicesOf(stage.size);
  const latePort = gatewayPortOf(stage.size.gateways);
  // The ports after it belong to the Gateways of another case.
  const earlyPort = gatewayPortOf(-1);
  function* routesOf(gateway: string): Generator<Resource> {
    for (let at = 0; at < routes; at++) yield httpRoute({ gateway, at, services });
  }

  // The operator and the nodes do not run while the API server is measured alone.
  await stage.clear();
  const creating = performance.now();
  await writeResourcesInParallel(stage.client, routesOf(LATE), routes);
  const writing = performance.now();
  await writeStatuses(stage, routesOf(LATE));
  const written = performance.now();

  const running = await stage.running();
  const late = await measure(running, { gateway: LATE, port: latePort, routes }, () =>
    stage.client.apply("Gateway", gatewayAt(LATE, latePort), { manager: BENCH_MANAGER }),
  );
  await stage.client.apply("Gateway", gatewayAt(EARLY, earlyPort), { manager: BENCH_MANAGER });
  await running.operator.untilSettled();
  const early = await measure(running, { gateway: EARLY, port: earlyPort, routes }, () =>
    writeResourcesInParallel(stage.client, routesOf(EARLY), routes),
  );

  const alone = (name: string, milliseconds: number) => ({ name, "until written, s": seconds(milliseconds) });
  return {
    title: `${routes} HTTPRoutes attach at once`,
    method:
      `${stage.population}. First ${routes} HTTPRoutes of a Gateway that does not exist are created, and a status is written ` +
      "to each, while neither operator nor nodes run. Then operator and nodes are started, and the Gateway is created. " +
      `At last ${routes} HTTPRoutes of another Gateway are created, 32 at a time. The time until all are served is measured ` +
      "from the API server's last response until both nodes answer 200 for ten of these HTTPRoutes, the last of all " +
      "included. API server, etcd, operator, nodes and client share the machine.",
    rows: [
      { ...alone(`${routes} creates, API server alone`, writing - creating), ...unmeasured },
      { ...alone(`${routes} status writes, API server alone`, written - writing), ...unmeasured },
      { name: "the Gateway is created after its HTTPRoutes", ...late },
      { name: "the HTTPRoutes are created after their Gateway", ...early },
    ],
    verdicts: [
      atMost("until all are served, Gateway last", late["until all are served, s"], { bound: 3, unit: " s" }),
      atMost("until all are served, HTTPRoutes last", early["until all are served, s"], { bound: 3, unit: " s" }),
    ],
  };
}

const unmeasured = {
  "until all are served, s": "",
  "operator CPU until then, s": "",
  "CPU of a node until then, s": "",
  "operator CPU until settled, s": "",
  "statuses written": "",
};

const seconds = (milliseconds: number): number => Number((milliseconds / 1000).toFixed(2));

interface Attaching {
  readonly gateway: string;
  readonly port: number;
  readonly routes: number;
}

async function measure(
  { nodes, operator }: MeasuredOperator,
  { gateway, port, routes }: Attaching,
  write: () => Promise<unknown>,
) {
  const node = nodes[0]?.process.pid ?? 0;
  const writes = () => operator.metric("sluice_operator_status_writes_total");
  const [cpuBefore, nodeBefore, before] = [operator.cpu(), cpuSeconds(node), await writes()];
  const started = performance.now();
  await write();
  const since = performance.now();
  const served = Array.from({ length: 10 }, (_, index) => {
    const at = Math.floor(((index + 1) * routes) / 10) - 1;
    return untilAllServe(
      nodes,
      { port, host: populationHostOf(at), path: `/${httpRouteName(gateway, at)}` },
      { interval: INTERVAL },
    );
  });
  const end = Math.max(...(await Promise.all(served)));
  const [cpu, nodeCpu] = [operator.cpu() - cpuBefore, cpuSeconds(node) - nodeBefore];
  await operator.untilSettled();
  return {
    "until written, s": seconds(since - started),
    "until all are served, s": seconds(end - since),
    "operator CPU until then, s": seconds(cpu * 1000),
    "CPU of a node until then, s": seconds(nodeCpu * 1000),
    "operator CPU until settled, s": seconds((operator.cpu() - cpuBefore) * 1000),
    "statuses written": (await writes()) - before,
  };
}

/** Writes the status of another controller to each, as many at a time as the operator does. */
async function writeStatuses({ client }: GatewayStage, routes: Generator<Resource>): Promise<void> {
  const condition = {
    type: "Accepted",
    status: "True",
    reason: "Accepted",
    message: "",
    observedGeneration: 1,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const write = async () => {
    for (const { metadata, spec } of routes) {
      const { parentRefs: [parentRef] = [] } = (spec ?? {}) as { readonly parentRefs?: readonly object[] };
      const parents = [{ parentRef, controllerName: "bench.example/gateway-controller", conditions: [condition] }];
      const { namespace, name } = metadata;
      await client.applyStatus({ kind: "HTTPRoute", namespace, name }, { parents } as Resource["status"], {
        manager: BENCH_MANAGER,
        uid: undefined,
      });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_STATUSES }, write));
}
