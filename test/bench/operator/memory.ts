/** Memory of a process, from /proc (Linux). */
import { readFileSync } from "node:fs";

export interface Memory {
  /** MB (2^20 bytes) that are resident now. */
  readonly resident: number;
  /** The most that ever were. */
  readonly peak: number;
}

export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const member = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { resident: member("VmRSS"), peak: member("VmHWM") };
}
