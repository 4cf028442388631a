/**
 * `npm run docs` serves the documentation site on this machine and shows edits at once; `npm run docs:build` builds it
 * into tools/docs/dist. The generator is a package of its own, which the first run installs, so that `npm ci` in the
 * root stays fast and images never contain the generator.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;
/** npm writes this file when an installation is complete. */
const installed = join(folder, "node_modules/.package-lock.json");
const lock = join(folder, "package-lock.json");

const [command = "dev", ...options] = process.argv.slice(2);
const isCurrent = existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
const code = isCurrent ? 0 : await run("npm", ["ci", "--prefix", folder, "--ignore-scripts"]);
process.exitCode = code || (await run(join(folder, "node_modules/.bin/vitepress"), [command, folder, ...options]));

async function run(program: string, args: readonly string[]): Promise<number> {
  const [code] = await once(spawn(program, args, { stdio: "inherit" }), "exit");
  return code ?? 1;
}
