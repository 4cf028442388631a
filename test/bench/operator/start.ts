/** The time from the operator's start until both nodes serve all resources, and the operator's memory. */
import { atMost, type BenchReport } from "../report.ts";
import { processMemory } from "./memory.ts";
import { populationRouteName } from "./population.ts";
import { untilServed } from "./proxy-requests.ts";
import type { RunningOperator } from "./running-operator.ts";
import type { BenchNode, PopulatedStage } from "./stage.ts";

const BOUND = 15;
const MEMORY_BOUND = 350;

/** Seconds from the operator's start until both nodes have acknowledged the document and serve its last route. */
async function untilAll({ size }: PopulatedStage, operator: RunningOperator, nodes: readonly BenchNode[]) {
  await operator.untilAcknowledged(nodes.length);
  const served = nodes.map(({ proxy }) =>
    untilServed({ port: proxy, path: `/${populationRouteName(size.routes - 1)}` }),
  );
  return (Math.max(...(await Promise.all(served))) - operator.startedAt) / 1000;
}

export async function measureOperatorStart(stage: PopulatedStage): Promise<BenchReport> {
  const rows: Record<string, string | number>[] = [];
  const seconds: number[] = [];
  const peaks: number[] = [];
  for (const name of ["no status written yet", "all statuses written"]) {
    const nodes = await stage.startNodes();
    const operator = await stage.startOperator(nodes.map(({ push }) => push));
    const took = await untilAll(stage, operator, nodes);
    const cpu = operator.cpu();
    const { resident } = processMemory(operator.process.pid);
    await operator.untilSettled();
    const settled = processMemory(operator.process.pid);
    seconds.push(took);
    peaks.push(settled.peak);
    rows.push({
      name,
      "until both nodes serve it, s": Number(took.toFixed(1)),
      "CPU until then, s": Number(cpu.toFixed(1)),
      "statuses written": await operator.metric("sluice_operator_status_writes_total"),
      "resident then, MB": Math.round(resident),
      "resident when settled, MB": Math.round(settled.resident),
      "peak, MB": Math.round(settled.peak),
      "heap in use, MB": Math.round((await operator.metric("nodejs_heap_size_used_bytes")) / 2 ** 20),
    });
    await stage.clear();
  }
  const { routes, services, consumers } = stage.size;
  return {
    title: "Start and memory",
    method: `${routes} Routes, ${services} Services and ${consumers} Consumers. The operator and two nodes without a document are started twice: before any status is written, and with all statuses written. The time is measured until both nodes have acknowledged the document and answer a request for its last Route. The operator has settled when every status is written.`,
    rows,
    verdicts: [
      atMost("the slower start", Math.max(...seconds), { bound: BOUND, unit: " s" }),
      atMost("the operator's peak memory", Math.max(...peaks), { bound: MEMORY_BOUND, unit: " MB" }),
    ],
  };
}
