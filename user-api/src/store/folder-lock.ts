/** Locks a folder for one process: a lock file names the process. */
import { mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

export class FolderInUse extends Error {
  override readonly name = "FolderInUse";
}

/**
 * A process as the lock names it: its pid and, on Linux, its start time. Pids are reused (in a container the pid is
 * the same after every restart), and the lock file of a killed process would otherwise lock the folder forever.
 */
async function identity(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // proc_pid_stat(5): the name, field 2, may contain spaces and brackets; the start time is field 22.
  const started = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .at(19);
  return `${pid} ${started ?? ""}`.trim();
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The pid of the process that the content of a lock file names, or null if no such process runs any more. */
async function holderOf(lock: string): Promise<number | null> {
  const pid = Number.parseInt(lock, 10);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !runs(pid)) return null;
  return (await identity(pid)) === lock.trim() ? pid : null;
}

/**
 * Creates and locks the folder. Resolves to a function that unlocks it; rejects with FolderInUse if a running process
 * holds the lock.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "lock");
  const mine = await identity(process.pid);
  for (;;) {
    try {
      await writeFile(file, mine, { flag: "wx" });
      return () => unlink(file);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    const found = await readFile(file, "utf8").catch(() => null);
    if (found === null) continue;
    const holder = await holderOf(found);
    if (holder !== null) {
      throw new FolderInUse(
        `the folder ${folder} is in use by process ${holder}; only one process at a time can use it`,
      );
    }
    await unlink(file).catch(() => undefined);
  }
}
