/** Memory of a node with 10,000 routes and 1,000 consumers, and of each additional worker. */
import { readFileSync } from "node:fs";
import { atMost, type BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { pluginsContent } from "./plugins.ts";
import { startSluice } from "./sluice.ts";
import { runWrk } from "./wrk.ts";

const MB = 1024;
const WORKERS = [1, 2, 4];

/** Resident memory of the process in MB (2^20 bytes), current and peak. */
export function residentMemory(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const member = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / MB;
  return { now: member("VmRSS"), most: member("VmHWM") };
}

export async function measureNodeMemory(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const used = new Map<number, number>();
  const rows: Record<string, string | number>[] = [];
  for (const workers of WORKERS) {
    const started = await stage.keep(startSluice(stage, pluginsContent, { SLUICE_WORKERS: `${workers}` }));
    const { pid } = started.process;
    const before = residentMemory(pid).now;
    const url = `http://127.0.0.1:${started.port}/api/x`;
    const { failures } = await runWrk({ url, folder: stage.folder, seconds: effort.seconds * 2 });
    if (failures > 0) throw new Error(`${failures} requests failed with ${workers} workers`);
    const { now, most } = residentMemory(pid);
    used.set(workers, now);
    rows.push({
      workers,
      "MB before requests": Math.round(before),
      "MB after requests": Math.round(now),
      "maximum MB": Math.round(most),
    });
    await stage.clear();
  }
  const [one = 0, two = 0, four = 0] = WORKERS.map((workers) => used.get(workers));
  return {
    title: "Memory",
    method:
      "Resident memory of a node with four plugins, 10,000 routes and 1,000 consumers from a file, before and after " +
      `${effort.seconds * 2} s of requests on 64 connections. One worker runs in the main thread of the process; two ` +
      "and four workers run in threads of their own.",
    rows,
    verdicts: [
      atMost("a node with one worker", one, { bound: 120, unit: " MB" }),
      atMost("each further worker, from two to four", (four - two) / 2, { bound: 60, unit: " MB" }),
      `the second worker: ${Math.round(two - one)} MB`,
    ],
  };
}
