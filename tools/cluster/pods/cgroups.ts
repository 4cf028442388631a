/** Control groups (v1) of a cluster: one in each hierarchy, below the control group of this process. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "../../process/index.ts";

/** A mounted hierarchy of cgroup v1. */
export interface CgroupHierarchy {
  /** The name for `mount -o`: its controllers, such as `cpu,cpuacct`, or `none,name=systemd`. */
  readonly options: string;
  /** The folder of this process's control group in the hierarchy. */
  readonly own: string;
}

/** The controllers that runc and the kubelet need to run pods. */
const needed = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];

/**
 * The hierarchies of this process, from the texts of /proc/self/cgroup and /proc/self/mountinfo.
 *
 * @returns an error message instead, when a needed hierarchy is not mounted or not writable.
 */
export function cgroupHierarchies(groups: string, mounts: string): readonly CgroupHierarchy[] | string {
  const all = mounts.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [type = "", , options = ""] = after.split(" ");
    const [, , , root = "/", point = "", access = ""] = before.split(" ");
    const readOnly = [...access.split(","), ...options.split(",")].includes("ro");
    return [{ type, root, point, options: options.split(","), readOnly }];
  });
  const points = all.filter(({ type }) => type === "cgroup");
  if (points.length === 0 && all.some(({ type }) => type === "cgroup2")) {
    return `this machine has only cgroup v2, and a cluster with pods needs cgroup v1: start the kernel with systemd.unified_cgroup_hierarchy=0, which needs systemd before version 258`;
  }
  const found = groups.split("\n").flatMap((line) => {
    const [, names = "", ...rest] = line.split(":");
    const path = rest.join(":");
    const mounted =
      names !== "" && points.find(({ options }) => names.split(",").every((name) => options.includes(name)));
    if (!mounted) return [];
    // A mount may show only a part of the hierarchy: in a container, it shows the container's part.
    const below = path.startsWith(mounted.root) && mounted.root !== "/" ? path.slice(mounted.root.length) : path;
    const options = names.startsWith("name=") ? `none,${names}` : names;
    return [{ options, own: join(mounted.point, below), readOnly: mounted.readOnly }];
  });
  const missing = needed.filter((name) => !found.some(({ options }) => options.split(",").includes(name)));
  if (missing.length > 0) return `cgroup v1 is not mounted for ${missing.join(", ")}`;
  const closed = found.filter(({ readOnly }) => readOnly).map(({ own }) => own);
  if (closed.length > 0) {
    return `control groups cannot be created in ${closed.join(", ")}: mounted read-only, as in a container that is not privileged`;
  }
  return found.map(({ options, own }) => ({ options, own }));
}

/** The hierarchies of this process now, or an error message (see `cgroupHierarchies`). */
export function ownHierarchies(): readonly CgroupHierarchy[] | string {
  return cgroupHierarchies(readFileSync("/proc/self/cgroup", "utf8"), readFileSync("/proc/self/mountinfo", "utf8"));
}

/** Creates a control group with this name below the control group of this process. */
export function makeCgroup({ options, own }: CgroupHierarchy, name: string): void {
  mkdirSync(join(own, name));
  if (!options.split(",").includes("cpuset")) return;
  // A new group has no CPUs and no memory nodes, and until it has some, no process can enter it.
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    writeFileSync(join(own, name, file), readFileSync(join(own, file)));
  }
}

/**
 * Removes groups and their child groups. The processes in them have been killed but may take a moment to end.
 *
 * @throws Error when a group still has processes after 20 s.
 */
export async function removeGroups(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    await waitFor(() => removeTree(folder), { what: `the processes in ${folder} to end`, timeout: 20_000 });
  }
}

/** Removes a group's folder after those of its child groups. The kernel removes its own files with a folder. */
function removeTree(folder: string): true {
  const entries = ignoringAbsence(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  for (const entry of entries) if (entry.isDirectory()) removeTree(join(folder, entry.name));
  ignoringAbsence(() => rmdirSync(folder));
  return true;
}

function ignoringAbsence<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
