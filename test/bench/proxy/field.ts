/** The contestants of a case: which of them are available on this machine, and their results under load. */
import type { Process } from "../../../tools/process/index.ts";
import { cpuSeconds } from "../cpu.ts";
import { type BenchReport, type Ratio, reportOf } from "../report.ts";
import { type Contestant, inTurn, type RoundSample } from "../rounds.ts";
import type { Stage, Started } from "./stage.ts";
import { runWrk, type WrkOptions } from "./wrk.ts";

/** The duration of a case. */
export interface CaseDuration {
  readonly rounds: number;
  readonly seconds: number;
}

interface Entry extends Omit<WrkOptions, "url" | "seconds" | "folder"> {
  /** Default /api/x. A complete URL is used unchanged. */
  readonly path?: string;
  /** Bytes of each request or response body, for the table. */
  readonly bytes?: number;
}

/**
 * CPU time of the process trees per request, latencies and throughput under the load of `run`. Rejects when a request
 * failed.
 */
export async function sampleOf(
  { name, ...tree }: Pick<Process, "name"> & ({ readonly pid: number } | { readonly pids: readonly number[] }),
  run: () => Promise<{ requests: number; seconds: number; failures: number; p50: number; p99: number }>,
): Promise<RoundSample> {
  const pids = "pids" in tree ? tree.pids : [tree.pid];
  const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = used();
  const { requests, seconds, failures, p50, p99 } = await run();
  const cpu = ((used() - before) * 1e6) / requests;
  if (failures > 0) throw new Error(`${name}: ${failures} of ${requests} requests failed`);
  return { cpu, p50, p99, perSecond: requests / seconds };
}

export class CaseContestants {
  readonly stage: Stage;
  readonly effort: CaseDuration;
  readonly #contestants: Contestant[] = [];
  readonly #notes: string[] = [];

  constructor(stage: Stage, effort: CaseDuration) {
    this.stage = stage;
    this.effort = effort;
  }

  /** Starts a contestant. Resolves to undefined when it cannot be started; the report contains the reason. */
  async start(name: string, start: (stage: Stage) => Promise<Started>): Promise<Started | undefined> {
    try {
      return await this.stage.keep(start(this.stage));
    } catch (error) {
      this.note(`${name} could not be started: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  }

  note(sentence: string): void {
    console.log(sentence);
    this.#notes.push(sentence);
  }

  enter(name: string, started: Started | undefined, { path = "/api/x", bytes, ...load }: Entry = {}): void {
    if (!started) return;
    const url = path.startsWith("/") ? `http://127.0.0.1:${started.port}${path}` : path;
    const { folder } = this.stage;
    const { seconds } = this.effort;
    const run = () => runWrk({ ...load, url, seconds, folder });
    const sample = async () => ({ ...(await sampleOf(started.process, run)), ...(bytes !== undefined && { bytes }) });
    this.add({ name, sample });
  }

  add(contestant: Contestant): void {
    this.#contestants.push(contestant);
  }

  run(): Promise<Map<string, RoundSample[]>> {
    return inTurn(this.#contestants, this.effort.rounds);
  }

  report(parts: {
    readonly title: string;
    readonly method: string;
    readonly samples: ReadonlyMap<string, readonly RoundSample[]>;
    readonly ratios: readonly Ratio[];
  }): BenchReport {
    return reportOf({ ...parts, notes: this.#notes });
  }
}
