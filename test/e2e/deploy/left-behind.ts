/** Finds leftovers of a cluster on the machine. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/**
 * A line for each process, mount, control group and file of the cluster with this state folder. Empty when nothing of
 * the cluster is left.
 */
export function leftBehind(folder: string): readonly string[] {
  const name = basename(folder).replace(/^.*-/, "");
  const group = `/sluice-${name}`;
  const processes = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return [
    ...processes
      .filter((pid) => read(`/proc/${pid}/cgroup`).includes(group))
      .map((pid) => `process ${pid} in ${group}`),
    ...processes.filter((pid) => read(`/proc/${pid}/mountinfo`).includes(folder)).map((pid) => `mount seen by ${pid}`),
    ...groupsNamed(basename(group)),
    ...[folder, join(tmpdir(), "sluice-clusters", `${name}.json`)].filter((path) => existsSync(path)),
  ];
}

/** Paths of the control groups with this name, at any depth below the folder. */
function groupsNamed(name: string, folder = "/sys/fs/cgroup"): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.name === name ? [path] : groupsNamed(name, path);
    });
}

/** Reads a file of a process. Returns an empty string if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
