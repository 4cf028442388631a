/**
 * Measures a change of one route in a declarative file with many routes: the time until the changed route is served,
 * and the memory used meanwhile.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../../tools/process/index.ts";
import { startBenchNode } from "./proxy/sluice.ts";
import { atMost, type BenchReport } from "./report.ts";
import { median } from "./rounds.ts";

/**
 * Upper bounds: seconds until a change is served, and the ratio of the peak of memory during the first change to the
 * memory at rest.
 */
const BOUNDS = { seconds: 1, memory: 1.3 };

const head = '_format_version: "3.0"\nservices:\n';
const service = (at: number): string => `- name: s${at}\n  url: http://s${at}.test:8080\n`;
const range = (length: number): readonly number[] => Array.from({ length }, (_, at) => at);

/** By layout: returns the text of a declarative file with `routes` routes, of which the middle one has `path`. */
const shapes: Readonly<Record<string, (routes: number, path: string) => string>> = {
  "in services of 100": (routes, path) => {
    const routeOf = (at: number) => `  - name: r${at}\n    paths:\n    - ${at === routes / 2 ? path : `/path/${at}`}\n`;
    const services = range(routes / 100).map(
      (at) =>
        `${service(at)}  routes:\n${range(100)
          .map((one) => routeOf(at * 100 + one))
          .join("")}`,
    );
    return head + services.join("");
  },
  "in one list": (routes, path) => {
    const routeOf = (at: number) =>
      `- name: r${at}\n  service: s${at % 1000}\n  paths:\n  - ${at === routes / 2 ? path : `/path/${at}`}\n`;
    return `${head}${range(1000).map(service).join("")}routes:\n${range(routes).map(routeOf).join("")}`;
  },
};

/** Memory of the process and its children in megabytes. Pages that they share with each other are counted once. */
function memoryOf(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean).map(Number),
  );
  const own = (one: number): number => {
    try {
      return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "latin1"))?.[1]) / 1024;
    } catch {
      return 0; // The process has ended in the meantime.
    }
  };
  return [pid, ...children].reduce((sum, one) => sum + own(one), 0);
}

/** Requests `url` until the response is not 404. Resolves to the seconds until then and the peak of memory (MB). */
async function untilRouted(url: string, pid: number): Promise<{ seconds: number; most: number }> {
  const from = performance.now();
  for (let most = 0; ; await sleep(10)) {
    most = Math.max(most, memoryOf(pid));
    const { status } = await fetch(url);
    const seconds = (performance.now() - from) / 1000;
    if (status !== 404) return { seconds, most };
    if (seconds > 120) throw new Error(`${url} was not routed within 120 s`);
  }
}

export async function benchReload({ routes, changes }: { routes: number; changes: number }): Promise<BenchReport> {
  const folder = temporaryFolder("bench-reload");
  const file = join(folder.path, "sluice.yaml");
  const rows: Record<string, string | number>[] = [];
  const worst = { seconds: 0, memory: 0, memoryInARow: 0 };
  try {
    for (const [shape, textWith] of Object.entries(shapes)) {
      writeFileSync(file, textWith(routes, "/first"));
      const began = performance.now();
      const node = await startBenchNode({ SLUICE_SOURCE: "file", SLUICE_FILE: file }, "/status/ready");
      const start = (performance.now() - began) / 1000;
      try {
        await sleep(10_000);
        const { pid } = node.process;
        const rest = memoryOf(pid);
        const measured: { seconds: number; most: number }[] = [];
        for (const change of range(changes)) {
          writeFileSync(`${file}.new`, textWith(routes, `/changed-${change}`));
          renameSync(`${file}.new`, file);
          measured.push(await untilRouted(`http://127.0.0.1:${node.port}/changed-${change}`, pid));
        }
        const seconds = measured.map((one) => one.seconds);
        const most = Math.max(...measured.map((one) => one.most));
        worst.seconds = Math.max(worst.seconds, ...seconds);
        const first = measured[0]?.most ?? Number.NaN;
        worst.memory = Math.max(worst.memory, first / rest);
        worst.memoryInARow = Math.max(worst.memoryInARow, most / rest);
        rows.push({
          [`${routes} routes`]: shape,
          "start, s": Number(start.toFixed(1)),
          "MB at rest": Math.round(rest),
          "change, s, median": Number(median(seconds).toFixed(2)),
          "change, s, maximum": Number(Math.max(...seconds).toFixed(2)),
          "maximum MB, first change": Math.round(first),
          "maximum MB, all changes": Math.round(most),
        });
      } finally {
        await node.process.stop();
      }
    }
  } finally {
    folder.remove();
  }
  return {
    title: "One route is changed in a large file",
    method: `A node with one worker on a YAML file. ${changes} changes of the path of one route, one after the other; each replaces the file. The time is measured until the new path is routed. Memory is the proportional set size (Pss) of the node and of the process that reads the file: 10 s after the start, the maximum during the first change, and the maximum during all changes.`,
    rows,
    verdicts: [
      atMost("the slowest change", worst.seconds, { bound: BOUNDS.seconds, unit: " s" }),
      atMost("memory during a change / memory at rest", worst.memory, { bound: BOUNDS.memory, unit: "" }),
      `the same during ${changes} changes without a pause: ${worst.memoryInARow.toFixed(2)}`,
    ],
  };
}
