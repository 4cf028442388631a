/**
 * Compares two builds of Sluice: the cost of a change on the hot path. Every round restarts both builds, in
 * alternating order, because V8's compilers produce code whose cost differs by a few percent from process to process.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../../tools/process/index.ts";
import { cpuSeconds } from "../cpu.ts";
import type { BenchReport } from "../report.ts";
import { median } from "../rounds.ts";
import { type Content, fourPlugins, startSluice } from "./sluice.ts";
import { createStage, type Stage, type Started } from "./stage.ts";
import { runWrk } from "./wrk.ts";

export interface PairedOptions {
  /** A checkout of the other version, installed (`npm ci`) and built (`npm run build`). */
  readonly against: string;
  /** The other version's name in the report, such as its commit. */
  readonly name: string;
  readonly rounds?: number;
  readonly seconds?: number;
}

interface Cost {
  /** Microseconds of CPU per request. */
  readonly cpu: number;
  /** Instructions in user mode per request; null: this machine has no `perf`, or no counter of instructions. */
  readonly instructions: number | null;
}

const contents: Readonly<Record<string, Content>> = {
  "a plain route": { routes: 10 },
  "four plugins": { routes: 10, consumers: 10, plugins: fourPlugins },
};

const WARM_UP = 3;
const BOUND = 1.02;

/** Instructions in user mode of the process while `run` runs; null: they cannot be counted. */
async function counted<T>(pid: number, run: () => Promise<T>): Promise<{ value: T; instructions: number | null }> {
  const args = ["stat", "-x,", "-e", "instructions:u", "-p", `${pid}`];
  const perf = await startProcess("perf", args, { name: "perf" }).catch(() => undefined);
  const value = await run();
  if (perf === undefined) return { value, instructions: null };
  perf.signal("SIGINT");
  await perf.ended();
  const [, count] = /^(\d+),.*instructions/m.exec(perf.output()) ?? [];
  return { value, instructions: count === undefined ? null : Number(count) };
}

async function costOf(stage: Stage, { process: { pid }, port }: Started, seconds: number): Promise<Cost> {
  const load = (duration: number) =>
    runWrk({ url: `http://127.0.0.1:${port}/api/x`, seconds: duration, folder: stage.folder });
  await load(WARM_UP);
  const before = cpuSeconds(pid);
  const { value, instructions } = await counted(pid, () => load(seconds));
  const { requests, failures } = value;
  if (failures > 0) throw new Error(`${failures} of ${requests} requests failed`);
  return {
    cpu: ((cpuSeconds(pid) - before) * 1e6) / requests,
    instructions: instructions === null ? null : instructions / requests,
  };
}

const NOT_MEASURED = "not measured";

const shown = (instructions: number | null): number | typeof NOT_MEASURED =>
  instructions === null ? NOT_MEASURED : Math.round(instructions);

/** The median; null: the list is empty, or a value was not measured. */
function medianOf(values: readonly (number | null)[]): number | null {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0 || measured.length < values.length ? null : median(measured);
}

interface ComparedCosts {
  readonly old: readonly Cost[];
  readonly now: readonly Cost[];
}

/** Sentences with the growth of instructions, whether it is within the bound, and the growth of CPU time in a case. */
export function pairedVerdicts(what: string, { old, now }: ComparedCosts): readonly string[] {
  const growth = (figure: keyof Cost): number | null => {
    const before = medianOf(old.map((cost) => cost[figure]));
    const after = medianOf(now.map((cost) => cost[figure]));
    return before === null || after === null ? null : after / before;
  };
  const [instructions, cpu] = [growth("instructions"), growth("cpu")];
  return [
    instructions === null
      ? `${what}, instructions: ${NOT_MEASURED}, because this machine cannot count them`
      : `${what}, instructions: ${instructions.toFixed(3)} (bound ${BOUND}: ${instructions <= BOUND ? "met" : "MISSED"})`,
    `${what}, CPU time: ${cpu?.toFixed(3) ?? NOT_MEASURED}`,
  ];
}

/** Rejects when the other version is not built. */
export async function benchPaired({ against, name, rounds = 8, seconds = 4 }: PairedOptions): Promise<BenchReport> {
  if (!existsSync(join(against, "gateway/build/main.js"))) {
    throw new Error(`${against} is not built: run npm ci and npm run build there`);
  }
  const stage = await createStage();
  const rows: Record<string, string | number>[] = [];
  const verdicts: string[] = [];
  const builds = { [name]: against, "this version": undefined };
  try {
    for (const [what, content] of Object.entries(contents)) {
      const costs: Record<string, Cost[]> = { [name]: [], "this version": [] };
      for (let round = 0; round < rounds; round++) {
        const order = Object.entries(builds);
        for (const [build, root] of round % 2 === 0 ? order : order.reverse()) {
          const cost = await costOf(stage, await stage.keep(startSluice(stage, content, {}, root)), seconds);
          await stage.clear();
          costs[build]?.push(cost);
          console.log(`${what}, ${build}: instructions ${shown(cost.instructions)}, ${cost.cpu.toFixed(1)} us/request`);
        }
      }
      const [old = [], now = []] = Object.values(costs);
      for (const [build, list] of Object.entries(costs)) {
        const cpu = list.map((cost) => cost.cpu);
        rows.push({
          case: what,
          build,
          "instructions/request": shown(medianOf(list.map(({ instructions }) => instructions))),
          "CPU us/request": median(cpu).toFixed(1),
          "min - max": `${Math.min(...cpu).toFixed(1)} - ${Math.max(...cpu).toFixed(1)}`,
        });
      }
      verdicts.push(...pairedVerdicts(what, { old, now }));
    }
  } finally {
    await stage.close();
  }
  return {
    title: `This version compared with ${name}`,
    method:
      `GET of a 100-byte JSON response on 64 connections of wrk, one worker. Each version is started ${rounds} times, in ` +
      `alternating order, with ${WARM_UP} s of warm-up and ${seconds} s of measurement; the figures are medians. The bound ` +
      "applies to instructions in user mode (perf stat), which differ by 0.3 % between rounds. CPU time differs by up to " +
      "a half on a shared machine.",
    rows,
    verdicts,
  };
}
