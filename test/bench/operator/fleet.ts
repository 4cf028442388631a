/** One change for many nodes: the time until the last node has it, and the operator's cost per node. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Process, startProcess } from "../../../tools/process/index.ts";
import { atMost, type BenchReport } from "../report.ts";
import { processMemory } from "./memory.ts";
import { BENCH_MANAGER, populationResource } from "./population.ts";
import type { RunningOperator } from "./running-operator.ts";
import { atShare } from "./shares.ts";
import type { PopulatedStage } from "./stage.ts";

export interface FleetOptions {
  readonly nodes: number;
  readonly changes: number;
}

const PROCESSES = 4;
/** Milliseconds for which the CPU time of the idle operator is measured. */
const IDLE = 10_000;
/** Milliseconds of rest after each change. */
const REST = 1000;
/** Timeout in milliseconds for all nodes to get their first document. */
const START = 300_000;

interface All {
  readonly hash: string;
  readonly at: number;
}

async function startSimulated(stage: PopulatedStage, nodes: number): Promise<readonly Process[]> {
  const main = join(import.meta.dirname, "simulated-nodes.ts");
  return Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => {
      const share = Math.floor((nodes + index) / PROCESSES);
      return startProcess(process.execPath, [main, `${share}`], {
        name: `simulated nodes ${index}`,
        ready: /^ports .*\n/m,
        env: stage.certificates.node,
      });
    }),
  );
}

const portsOf = (simulated: Process): readonly number[] =>
  JSON.parse(/^ports (.*)\n/m.exec(simulated.output())?.[1] ?? "[]");

/**
 * Waits until all nodes have the same document, whose hash is not `but`. Resolves to its hash and the Unix milliseconds
 * at which the last node got it.
 */
async function untilAll(
  simulated: readonly Process[],
  { but, timeout }: { but: string | null; timeout: number },
): Promise<All> {
  const end = performance.now() + timeout;
  for (;;) {
    const last = simulated.map((each) => {
      const lastLine = [...each.output().matchAll(/^all (.*)\n/gm)].at(-1)?.[1];
      return lastLine === undefined ? null : (JSON.parse(lastLine) as All);
    });
    const [first] = last;
    if (first && first.hash !== but && last.every((each) => each?.hash === first.hash))
      return { hash: first.hash, at: Math.max(...last.map((each) => each?.at ?? 0)) };
    if (performance.now() > end) throw new Error(`not all simulated nodes had the document after ${timeout / 1000} s`);
    await pause(10);
  }
}

async function measure(
  stage: PopulatedStage,
  operator: RunningOperator,
  simulated: readonly Process[],
  options: FleetOptions,
) {
  const { changes } = options;
  const first = await untilAll(simulated, { but: null, timeout: START });
  const startTook = (first.at - performance.timeOrigin - operator.startedAt) / 1000;
  const startCpu = operator.cpu();
  await operator.untilSettled();
  const idleFrom = operator.cpu();
  await pause(IDLE);
  const idle = (operator.cpu() - idleFrom) / (IDLE / 1000);
  const times: number[] = [];
  let { hash } = await untilAll(simulated, { but: null, timeout: REST });
  const before = operator.cpu();
  for (let at = 0; at < changes; at++) {
    const spec = { serviceRef: { name: "service-0" }, paths: [`/fleet-${at}-${operator.process.pid}`] };
    await stage.client.apply("Route", populationResource("Route", "of-the-fleet", spec), { manager: BENCH_MANAGER });
    const since = performance.timeOrigin + performance.now();
    const all = await untilAll(simulated, { but: hash, timeout: 30_000 });
    hash = all.hash;
    times.push(all.at - since);
    await pause(REST);
  }
  const cpu = ((operator.cpu() - before) * 1000) / changes;
  return {
    startTook,
    startCpu,
    idle,
    times: times.sort((one, other) => one - other),
    cpu,
    memory: processMemory(operator.process.pid),
  };
}

export async function measureFleet(stage: PopulatedStage, options: FleetOptions): Promise<BenchReport> {
  await stage.clear();
  const simulated = await startSimulated(stage, options.nodes);
  try {
    const ports = simulated.flatMap(portsOf);
    const operator = await stage.startOperator(ports.map((port) => `https://127.0.0.1:${port}`));
    const { startTook, startCpu, idle, times, cpu, memory } = await measure(stage, operator, simulated, options);
    const { nodes, changes } = options;
    const { routes, services, consumers } = stage.size;
    const latest = atShare(times, 1);
    return {
      title: `One change to ${nodes} nodes`,
      method: `${nodes} simulated nodes in ${PROCESSES} processes: each has the gateway's push listener with mutual TLS, its own port and its own state, but nodes of one process share the work of reading the same document. ${changes} changes of one Route, at most one a second, with ${routes} Routes, ${services} Services and ${consumers} Consumers present. The time is measured from the API server's response until the last node has acknowledged. CPU of a change: all CPU time of the operator during the changes and the pauses between them, including its regular requests to the nodes, divided by the number of changes.`,
      rows: [
        {
          nodes,
          "p50 ms": atShare(times, 0.5),
          "maximum ms": latest,
          "operator CPU, ms/change": Number(cpu.toFixed(1)),
          "ms/change and node": Number((cpu / nodes).toFixed(3)),
          "idle CPU, % of a core": Number((idle * 100).toFixed(1)),
          "start until all nodes have the document, s": Number(startTook.toFixed(1)),
          "CPU until then, s": Number(startCpu.toFixed(1)),
          "operator's peak memory, MB": Math.round(memory.peak),
        },
      ],
      verdicts: [
        atMost("the slowest change, until all nodes have acknowledged", latest / 1000, { bound: 1, unit: " s" }),
        atMost("operator CPU per node and change", cpu / nodes, { bound: 1, unit: " ms" }),
      ],
    };
  } finally {
    await stage.clear();
    for (const each of simulated) await each.stop();
  }
}
