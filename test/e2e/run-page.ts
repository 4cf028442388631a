/** Runs the shell blocks of a page in one shell, and compares what they print with the blocks of output after them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

/**
 * A block of a page: a file to write, or commands with their documented output, in which `…` stands for any text.
 * Commands marked as `sh background` run in a terminal of their own until the page ends; the next step runs when they
 * have printed the documented output.
 */
const block =
  /(?:Replace|Create) `([^`]+)` with:\n\n```\w+\n([\s\S]*?)```|```sh( background)?\n([\s\S]*?)```(?:\n```\n([\s\S]*?)```)?/g;

/** Seconds until a command in the background must have printed its documented output. */
const READY_SECONDS = 240;

interface PageStep {
  readonly commands: string;
  readonly output: string;
  readonly isBackground: boolean;
  /** Seconds from the start of the page to the end of this step. */
  readonly seconds: number;
}

export interface PageOptions {
  /** The folder in which the page begins. Default: the root of the repository. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Replacements of texts in the commands. Default: free ports for 8000, 8001, 8007 and 4000. */
  readonly replaced?: Readonly<Record<string, string>>;
}

const freePorts = async () =>
  Object.fromEntries(
    await Promise.all([8000, 8001, 8007, 4000].map(async (port) => [`:${port}`, `:${await freePort()}`] as const)),
  );

/**
 * Runs the commands of a page unchanged, except for the texts of `replaced`. Returns the steps of the page.
 *
 * @param page The page's path in the repository
 */
export async function runPage(
  context: TestContext,
  page: string,
  { cwd = repositoryRoot, env = {}, replaced }: PageOptions = {},
): Promise<readonly PageStep[]> {
  const steps = stepsIn(readFileSync(join(repositoryRoot, page), "utf8"));
  const replacements = Object.entries(replaced ?? (await freePorts()));
  const portable = (text: string) => replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  const status = replacements.find(([from]) => from === ":8007")?.[1].slice(1) ?? "8007";
  const folder = temporaryFolder("page");
  context.after(() => folder.remove());
  const script = steps.map((step, at) => `${shellOf(step, at)}\necho "=== end of step ${at} after $SECONDS s"\n`);
  const stopAll =
    'trap \'for pid in $(jobs -p); do kill -- "-$pid" || kill "$pid" || true; done 2>/dev/null; wait\' EXIT';
  // A block may copy a file whose upstream is the status listener.
  const copy = `cp() { command cp "$@" && sed -i 's/port: 8007/port: ${status}/' "\${@: -1}"; }`;
  const bash = await startProcess("bash", ["-ec", `${stopAll}\n${copy}\n${portable(script.join(""))}`], {
    name: "page",
    cwd,
    env: { TMPDIR: folder.path, NODE_TEST_CONTEXT: undefined, ...env },
  });
  context.after(() => bash.stop());
  const { code } = await bash.ended();
  const printed = bash.output().split(/^=== end of step \d+ after \d+ s\n/m);
  const ends = [...bash.output().matchAll(/^=== end of step \d+ after (\d+) s$/gm)].map(([, at]) => Number(at));
  assert.equal(code, 0, bash.tail());
  for (const [at, { commands, output, isBackground }] of steps.entries())
    assert.ok(
      isBackground || endsAs(printed[at] ?? "", portable(output)),
      `${commands}\nprinted\n${printed[at]}\ninstead of\n${output}`,
    );
  return steps.map((step, at) => ({ ...step, seconds: ends[at] ?? Number.NaN }));
}

/** Whether a text ends with the documented output. */
const endsAs = (text: string, output: string): boolean =>
  new RegExp(`(?:${output.split("…").map(RegExp.escape).join("[^]*?")})$`).test(text.replaceAll("\r\n", "\n"));

const stepsIn = (text: string): readonly Omit<PageStep, "seconds">[] =>
  [...text.matchAll(block)].map(([, file, content = "", background, commands, output = ""]) => ({
    commands: commands ?? `cat > '${file}' <<'FILE'\n${content}FILE\n`,
    output,
    isBackground: background !== undefined,
  }));

function shellOf({ commands, output, isBackground }: Omit<PageStep, "seconds">, at: number): string {
  if (!isBackground) return `{ ${commands}\n}`;
  return `cat > "$TMPDIR/step-${at}.sh" <<'COMMANDS'
${commands}COMMANDS
: > "$TMPDIR/step-${at}.log"
setsid bash "$TMPDIR/step-${at}.sh" > "$TMPDIR/step-${at}.log" 2>&1 < /dev/null &
latest=$((SECONDS + ${READY_SECONDS}))
until grep -qF -- '${output.trim().replaceAll("'", "'\\''")}' "$TMPDIR/step-${at}.log"; do
  kill -0 $! && [ "$SECONDS" -lt "$latest" ] || { cat "$TMPDIR/step-${at}.log"; exit 1; }
  sleep 0.1
done`;
}
