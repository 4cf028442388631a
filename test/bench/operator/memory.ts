/** Memory of a process, from /proc (Linux). */
import { readFileSync } from "node:fs";

export interface Memory {
  /** Current resident memory in MB (2^20 bytes). */
  readonly resident: number;
  /** The peak of resident memory. */
  readonly peak: number;
}

export function processMemory(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const member = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { resident: member("VmRSS"), peak: member("VmHWM") };
}
