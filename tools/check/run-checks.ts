import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkArchitecture, checkIndex } from "./checks/check-architecture.ts";
import { checkCitations } from "./checks/check-citations.ts";
import { checkCodeBlocks } from "./checks/check-code-blocks.ts";
import { checkConnections } from "./checks/check-connections.ts";
import { checkDependencies, type Manifest } from "./checks/check-dependencies.ts";
import { checkImports } from "./checks/check-imports.ts";
import { checkLinks } from "./checks/check-links.ts";
import { checkNames } from "./checks/check-names.ts";
import { checkCycles, checkOrder, stagesOf } from "./checks/check-order.ts";
import { checkRegexes } from "./checks/check-regexes.ts";
import { checkFolders, checkInternals, checkLength, checkWords } from "./checks/check-text.ts";
import { type Fault, faultText } from "./fault.ts";
import { findImports } from "./find-imports.ts";
import { repositoryRoot, sourceFiles, sourcePaths } from "./source-files.ts";

/** Returns the errors as lines; none if the check passes. */
type Check = () => readonly string[];

/** The same for a check that another process makes. */
type Command = () => Promise<readonly string[]>;

/**
 * Checks types. `tsc --build` does not read a project again if no file of it has changed since its last run without an
 * error. It does not compare the types of packages, so a later lockfile has it read everything.
 */
const compile = (project: string, cache: string) => {
  const modified = (path: string) => statSync(join(repositoryRoot, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const isReinstalled = modified("package-lock.json") > modified(`node_modules/.cache/${cache}.tsbuildinfo`);
  return command(process.execPath, [
    ...[join(repositoryRoot, "node_modules/typescript/bin/tsc"), "--build", project, "--pretty", "false"],
    ...(isReinstalled ? ["--force"] : []),
  ]);
};

const commands: Readonly<Record<string, Command>> = {
  types: () => compile(".", "typescript"),
  // With the types of browsers, which the other code must not use.
  "types of the console": () => compile("gateway/console", "typescript-console"),
  "format and lint": () => command(join(repositoryRoot, "node_modules/.bin/biome"), ["ci", "--colors=off", "."]),
  "generated files": () => command(process.execPath, ["tools/generate/main.ts", "--check"]),
};

function checks(): Readonly<Record<string, Check>> {
  const files = sourceFiles();
  const imports = findImports(files);
  const architecture = files.find(({ path }) => path === "ARCHITECTURE.md")?.text ?? "";
  const manifests = readManifests();
  const workspaces = manifests.map(({ folder }) => folder).filter((folder) => folder !== "" && folder !== "tools/docs");
  const lines = (faults: readonly Fault[]) => faults.map(faultText);
  return {
    "import table": () => lines(checkImports(imports, workspaces)),
    "order of the gateway's stages": () => lines(checkOrder(imports, stagesOf(architecture))),
    "import cycles": () => lines(checkCycles(imports)),
    "connections of the gateway": () => lines(checkConnections(imports, files)),
    dependencies: () => lines(checkDependencies(imports, manifests)),
    "regular expressions": () => lines(checkRegexes(files)),
    "exported names": () => lines(checkNames(files)),
    "length of files": () => lines(checkLength(files)),
    "size of folders": () => lines(checkFolders(files)),
    "hosts and paths": () => lines(checkWords(files)),
    "internals of Node": () => lines(checkInternals(files)),
    "links of pages": () => lines(checkLinks(files, sourcePaths())),
    "code blocks of pages": () => lines(checkCodeBlocks(files)),
    citations: () => lines(checkCitations(files, sourcePaths())),
    "index of pages": () => lines(checkIndex(files)),
    architecture: () => lines(checkArchitecture(files, sourcePaths())),
  };
}

/**
 * Runs every check on the working tree, and prints one line per check, followed by its errors. All commands run at the
 * same time as the other checks, because `tsc` uses only one core and takes longer than everything else.
 */
export async function runChecks(
  print: (line: string) => void,
): Promise<{ readonly passed: number; readonly failed: number }> {
  let passed = 0;
  let failed = 0;
  const report = (name: string, { found, seconds }: Awaited<ReturnType<typeof timed>>) => {
    print(`${found.length === 0 ? "ok    " : "FAILED"} ${name} (${seconds.toFixed(1)} s)`);
    for (const line of found) print(`       ${line}`);
    if (found.length === 0) passed++;
    else failed++;
  };
  const running = Object.entries(commands).map(([name, run]) => ({ name, ended: timed(run) }));
  for (const [name, check] of Object.entries(checks())) report(name, await timed(async () => check()));
  for (const { name, ended } of running) report(name, await ended);
  return { passed, failed };
}

async function timed(run: Command): Promise<{ readonly found: readonly string[]; readonly seconds: number }> {
  const began = performance.now();
  return { found: await run(), seconds: (performance.now() - began) / 1000 };
}

/** The lines that a failed command has printed, and how it ended; empty if the command succeeded. */
async function command(path: string, args: readonly string[]): Promise<readonly string[]> {
  const child = spawn(path, args, { cwd: repositoryRoot, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  }
  const [code, signal] = await once(child, "close");
  if (code === 0) return [];
  return [...output.split("\n").filter((line) => line.trim() !== ""), `ended with ${signal ?? `exit code ${code}`}`];
}

function readManifests(): readonly Manifest[] {
  const read = (folder: string) => JSON.parse(readFileSync(join(repositoryRoot, folder, "package.json"), "utf8"));
  // The generator of the documentation site is a package of its own, which is not a workspace.
  const folders: readonly string[] = ["", ...read("").workspaces, "tools/docs"];
  return folders.map((folder) => {
    const { dependencies = {}, devDependencies = {} } = read(folder);
    return { folder, dependencies: Object.keys(dependencies), devDependencies: Object.keys(devDependencies) };
  });
}
