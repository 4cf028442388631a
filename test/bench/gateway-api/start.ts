/** The time from the operator's start until both nodes serve all routes, and the operator's memory. */
import { processMemory } from "../operator/memory.ts";
import { atMost, type BenchReport } from "../report.ts";
import { gatewayName, gatewayPortOf, httpRouteName, populationHostOf } from "./population.ts";
import { type GatewayStage, untilAllServe } from "./stage.ts";

export async function measureGatewaysStart(stage: GatewayStage): Promise<BenchReport> {
  const rows: Record<string, string | number>[] = [];
  const seconds: number[] = [];
  const peaks: number[] = [];
  const gateway = stage.size.gateways - 1;
  const route = stage.size.routes - 1;
  const last = {
    port: gatewayPortOf(gateway),
    host: populationHostOf(route),
    path: `/${httpRouteName(gatewayName(gateway), route)}`,
  };
  for (const name of ["no status written yet", "all statuses written"]) {
    const nodes = await stage.startNodes();
    const operator = await stage.startOperator(nodes.map(({ push }) => push));
    await operator.untilAcknowledged(nodes.length);
    const took = ((await untilAllServe(nodes, last)) - operator.startedAt) / 1000;
    const cpu = operator.cpu();
    await operator.untilSettled();
    const { resident, peak } = processMemory(operator.process.pid);
    seconds.push(took);
    peaks.push(peak);
    rows.push({
      name,
      "until both nodes serve it, s": Number(took.toFixed(1)),
      "CPU until then, s": Number(cpu.toFixed(1)),
      "CPU until settled, s": Number(operator.cpu().toFixed(1)),
      "statuses written": await operator.metric("sluice_operator_status_writes_total"),
      "resident when settled, MB": Math.round(resident),
      "peak, MB": Math.round(peak),
      "heap in use, MB": Math.round((await operator.metric("nodejs_heap_size_used_bytes")) / 2 ** 20),
      "a node, MB": Math.round(processMemory(nodes[0]?.process.pid ?? 0).resident),
    });
    await stage.clear();
  }
  return {
    title: "Start and memory",
    method: `${stage.population}. The operator and two nodes without a document are started twice: before any status is written, and with all statuses written. The time is measured until both nodes have acknowledged the document and answer a request for the last HTTPRoute. The operator has settled when every status is written.`,
    rows,
    verdicts: [
      atMost("the slower start", Math.max(...seconds), { bound: 20, unit: " s" }),
      atMost("the operator's peak memory", Math.max(...peaks), { bound: 450, unit: " MB" }),
    ],
  };
}
