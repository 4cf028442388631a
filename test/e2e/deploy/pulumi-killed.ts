/** A run of Pulumi that is killed halfway, as by a power failure. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import type { Project } from "../../../tools/deploy/project.ts";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

/** Starts `pulumi up` and kills it with all its child processes once `until` resolves. */
export async function killUp({ folder, env }: Project, stack: string, until: () => Promise<unknown>): Promise<void> {
  const args = ["up", "--yes", "--skip-preview", "--non-interactive", "--stack", stack];
  const run = await startProcess(await obtainTool("pulumi"), args, { name: "pulumi", cwd: folder, env });
  try {
    await until();
  } finally {
    // The language host and our program are in their own process groups, and would outlive Pulumi.
    const left = descendantsOf(run.pid);
    await run.kill9();
    for (const pid of left) kill(pid);
  }
}

function descendantsOf(pid: number): readonly number[] {
  const read = (thread: string) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ");
  const children = readdirSync(`/proc/${pid}/task`).flatMap(read).filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendantsOf)];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // The process has already ended.
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}
