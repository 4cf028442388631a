import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { root } from "../check/source-files.ts";
import { type StartOptions, startProcess, temporaryFolder } from "../process/index.ts";

/** Runs a command to its end; its output is the message when it fails. */
async function run(command: string, args: readonly string[], options: Omit<StartOptions, "name">): Promise<string> {
  const name = `${command} ${args.join(" ")}`;
  const started = await startProcess(command, args, { name, ...options });
  const { code } = await started.ended();
  assert.equal(code, 0, `${name} failed:\n${started.tail(100)}`);
  return started.output();
}

test("a clean clone installs and checks", async () => {
  const folder = temporaryFolder("clone");
  after(() => folder.remove());
  const clone = join(folder.path, "sluice");
  await run("git", ["clone", "--quiet", "--no-hardlinks", root, clone], {});
  // What npm tells its scripts about the package that it runs for must not reach the npm of another folder.
  const own = Object.keys(process.env).filter((name) => /^npm_(package_|lifecycle_|config_local_prefix$)/.test(name));
  const place = { cwd: clone, env: Object.fromEntries(own.map((name) => [name, undefined])) };
  await run("npm", ["ci", "--ignore-scripts=false"], place);
  assert.match(await run("npm", ["run", "check"], place), /^\d+ passed, 0 failed$/m);
  assert.equal(await run("git", ["status", "--porcelain"], place), "", "install and check leave the clone as it was");
});
