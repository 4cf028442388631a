/** Checks whether this machine can run a node, and removes leftovers of earlier runs. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findOnPath } from "../../programs/obtain/apt.ts";
import { type CgroupHierarchy, ownHierarchies, removeGroups } from "./cgroups.ts";

/** This machine cannot run a node. The message gives the reason in one sentence. */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}

/** The kinds of namespaces that each node has for itself, as options of `unshare` and `nsenter`. */
export const namespaces = ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup"] as const;

/**
 * The hierarchies that contain this process's control groups, below which a node can run.
 *
 * @throws CannotRun on a machine that cannot run a node.
 */
export async function usableHierarchies(): Promise<readonly CgroupHierarchy[]> {
  const refuse = (reason: string) => new CannotRun(`a cluster with pods cannot run here: ${reason}`);
  if (process.platform !== "linux") throw refuse(`it needs Linux, but this is ${process.platform}`);
  if (process.getuid?.() !== 0) throw refuse("it needs root, for namespaces, control groups and containerd");
  const missing = ["unshare", "nsenter", "ip", "mount"].filter((command) => findOnPath([command]) === undefined);
  if (missing.length > 0) throw refuse(`install ${missing.join(", ")} (packages util-linux, mount and iproute2)`);
  try {
    await promisify(execFile)("unshare", [...namespaces, "--fork", "true"], { timeout: 10_000 });
  } catch (error) {
    throw refuse(`root cannot create namespaces (${error instanceof Error ? error.message.trim() : error})`);
  }
  const found = ownHierarchies();
  if (typeof found === "string") throw refuse(found);
  return found;
}

/** The resources of a cluster on this machine, so that a later run can remove them after a crash. */
export interface ClusterTrace {
  readonly owner: ProcessIdentity;
  readonly init?: ProcessIdentity;
  readonly groups: readonly string[];
  readonly folder: string;
}

/** A process, distinguished from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly started: string;
}

/** The process that has this pid now, or undefined when there is none. A zombie counts as none. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  try {
    // The process's name, which is in parentheses, may contain any character, including parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : { pid, started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

const alive = (process: ProcessIdentity | undefined) =>
  process !== undefined && processIdentity(process.pid)?.started === process.started;

const traces = () => join(tmpdir(), "sluice-clusters");

/** Writes the trace into a file that later runs find, and returns a function that removes the file. */
export function writeClusterTrace(name: string, trace: ClusterTrace): () => void {
  mkdirSync(traces(), { recursive: true });
  const place = join(traces(), `${name}.json`);
  // Renamed into place, so that other processes never read a partial file.
  writeFileSync(`${place}.part`, JSON.stringify(trace));
  renameSync(`${place}.part`, place);
  return () => rmSync(place, { force: true });
}

/** Removes the clusters whose process ended without removing them. */
export async function removeLeftovers(): Promise<void> {
  mkdirSync(traces(), { recursive: true });
  for (const name of readdirSync(traces())) {
    const place = join(traces(), name);
    const trace = name.endsWith(".json") && readTrace(place);
    if (!trace || alive(trace.owner)) continue;
    if (trace.init && alive(trace.init)) process.kill(trace.init.pid, "SIGKILL");
    await removeGroups(trace.groups);
    rmSync(trace.folder, { recursive: true, force: true, maxRetries: 5 });
    rmSync(place, { force: true });
  }
}

/** Undefined when another process has removed the trace file since it was listed. */
function readTrace(place: string): ClusterTrace | undefined {
  try {
    return JSON.parse(readFileSync(place, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
