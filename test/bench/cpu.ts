/** CPU time of a process tree, from /proc (Linux). */
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second; 100 on every Linux that Node runs on. */
const TICKS = 100;

interface ProcessStat {
  readonly parent: number;
  readonly ticks: number;
}

function stat(pid: string | number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return undefined;
  }
}

/** User and system seconds that the process and its running descendants have used so far. */
export function cpuSeconds(pid: number): number {
  const all = new Map<number, ProcessStat>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = stat(name);
    if (read) all.set(Number(name), read);
  }
  const within = (candidate: number): boolean => {
    if (candidate === pid) return true;
    const parent = all.get(candidate)?.parent;
    return parent !== undefined && parent > 1 && within(parent);
  };
  return [...all].filter(([candidate]) => within(candidate)).reduce((sum, [, { ticks }]) => sum + ticks, 0) / TICKS;
}
