/** Runs the shell blocks of a page in one shell, and compares what they print with the blocks of output after them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { root } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

/** A block of a page: a file to write, or commands with their documented output. */
const block = /Replace `([^`]+)` with:\n\n```ts\n([\s\S]*?)```|```sh\n([\s\S]*?)```(?:\n```\n([\s\S]*?)```)?/g;

interface PageStep {
  readonly commands: string;
  readonly output: string;
}

/**
 * Runs the commands of a page unchanged, except for the port numbers 8000 and 8007. Returns the steps of the page.
 *
 * @param page The page's path in the repository
 */
export async function runPage(context: TestContext, page: string): Promise<readonly PageStep[]> {
  const steps: PageStep[] = [];
  for (const [, file, text = "", commands, output = ""] of readFileSync(join(root, page), "utf8").matchAll(block))
    steps.push(
      commands === undefined ? { commands: `cat > '${file}' <<'FILE'\n${text}FILE\n`, output } : { commands, output },
    );
  const script = steps.map(({ commands }, at) => `{ ${commands}\n}\necho "=== end of step ${at}"\n`).join("");
  const [proxy, status] = [await freePort(), await freePort()];
  const portable = (text: string) => text.replaceAll(":8000", `:${proxy}`).replaceAll(":8007", `:${status}`);
  const folder = temporaryFolder("page");
  context.after(() => folder.remove());
  const stopAll = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT";
  // A block may copy a file whose upstream is the status listener.
  const copy = `cp() { command cp "$@" && sed -i 's/port: 8007/port: ${status}/' "\${@: -1}"; }`;
  const bash = await startProcess("bash", ["-ec", `${stopAll}\n${copy}\n${portable(script)}`], {
    name: "page",
    cwd: root,
    env: { TMPDIR: folder.path, NODE_TEST_CONTEXT: undefined },
  });
  context.after(() => bash.stop());
  const { code } = await bash.ended();
  const printed = bash.output().split(/^=== end of step \d+\n/m);
  assert.equal(code, 0, bash.tail());
  for (const [at, { commands, output }] of steps.entries())
    assert.ok(printed[at]?.endsWith(output), `${commands}\nprinted\n${printed[at]}\ninstead of\n${output}`);
  return steps;
}
