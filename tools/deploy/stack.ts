/** Prepares a stack of the program, and repairs it after an interrupted run. */
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { StartError } from "../start/ports.ts";
import type { Project } from "./project.ts";

/** Selects the stack; creates it when missing. */
export async function selectStack(project: Project, stack: string): Promise<void> {
  const { code, output } = await project.run(["stack", "select", "--create", stack]);
  if (code === 0) return;
  if (/incorrect passphrase/.test(output)) {
    throw new StartError(`PULUMI_CONFIG_PASSPHRASE is not the one with which the stack ${stack} was created`);
  }
  throw new StartError(`pulumi stack select ${stack}:\n${output.trim()}`);
}

/** The config of the stack as texts (maps and lists as JSON), without secrets. Creates the stack when missing. */
export async function readConfig(project: Project, stack: string): Promise<ReadonlyMap<string, string>> {
  await selectStack(project, stack);
  const output = await expect(project, ["config", "--json", "--stack", stack]);
  const entries: Readonly<Record<string, { value?: string }>> = JSON.parse(output.slice(output.indexOf("{")));
  return new Map(Object.entries(entries).flatMap(([key, { value }]) => (value === undefined ? [] : [[key, value]])));
}

/**
 * Repairs the state after a killed run: removes the run's lock when its process has ended, and clears pending
 * operations in the state. Pulumi does neither, because it cannot know whether that run is still active.
 *
 * @throws StartError when the run that holds the lock is still active.
 */
export async function recoverStack(project: Project, stack: string, say: (line: string) => void): Promise<void> {
  const holder = lockHolder(project, stack);
  if (holder !== undefined) {
    if (holder.runs)
      throw new StartError(`another run is working on the stack ${stack} (process ${holder.pid}): wait until it ends`);
    say(`A run on the stack ${stack} was killed (process ${holder.pid}): its lock is removed.`);
    await expect(project, ["cancel", "--yes", "--stack", stack]);
  }
  const exported = await expect(project, ["stack", "export", "--stack", stack]);
  const { deployment } = JSON.parse(exported.slice(exported.indexOf("{")));
  const pending: readonly unknown[] = deployment?.pending_operations ?? [];
  if (pending.length === 0) return;
  say(
    `A run on the stack ${stack} ended in the middle of ${pending.length} operations: the stack's state is refreshed.`,
  );
  await expect(project, ["refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", stack]);
}

async function expect(project: Project, args: readonly string[]): Promise<string> {
  const { code, output } = await project.run(args);
  if (code !== 0) throw new StartError(`pulumi ${args.join(" ")}:\n${output.trim()}`);
  return output;
}

/**
 * The process that holds the lock in a local state folder; undefined when the stack is not locked or the state is in
 * another backend. A process on another machine counts as running.
 */
function lockHolder(project: Project, stack: string): { pid: number; runs: boolean } | undefined {
  const { PULUMI_BACKEND_URL = "" } = project.env;
  if (!PULUMI_BACKEND_URL.startsWith("file://")) return undefined;
  const [state = ""] = PULUMI_BACKEND_URL.slice("file://".length).split("?");
  const folder = join(state, ".pulumi/locks/organization/sluice", stack);
  for (const file of filesIn(folder)) {
    const { pid, hostname: host } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    return { pid, runs: host !== hostname() || isAlive(pid) };
  }
  return undefined;
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
