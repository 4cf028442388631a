import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import manifest from "../package.json" with { type: "json" };
import { repositoryRoot } from "./check/source-files.ts";
import { temporaryFolder } from "./process/index.ts";

const readJson = (path: string) => JSON.parse(readFileSync(join(repositoryRoot, path), "utf8"));

/** Every command that npm links: its name, and its file in the repository. */
const commands = manifest.workspaces.flatMap((workspace) =>
  Object.entries<string>(readJson(`${workspace}/package.json`).bin ?? {}).map(
    ([name, file]) => [name, join(workspace, file)] as const,
  ),
);

interface Clone {
  /** Runs a file of the clone on a machine whose only Node has the version that `cloneOf` was given. */
  run(file: string, ...args: readonly string[]): { readonly status: number | null; readonly output: string };
  readonly path: string;
}

/**
 * Creates a clone with only `tools/launch.sh`, a command that links to it, and the program that the command runs.
 *
 * @param version The version that the machine's Node reports
 * @param installed Whether the clone has an empty `node_modules`
 */
function cloneOf(context: TestContext, version: string, installed: boolean): Clone {
  const folder = temporaryFolder("launch");
  context.after(() => folder.remove());
  const [repository, machine] = [join(folder.path, "sluice"), join(folder.path, "machine")];
  for (const path of [
    repository,
    machine,
    ...["tools", "gateway/src", "gateway/bin"].map((name) => join(repository, name)),
  ])
    mkdirSync(path, { recursive: true });
  if (installed) mkdirSync(join(repository, "node_modules"));
  cpSync(join(repositoryRoot, "tools/launch.sh"), join(repository, "tools/launch.sh"));
  symlinkSync("../../tools/launch.sh", join(repository, "gateway/bin/sluice"));
  const script = (text: string) => ({ text: `#!/bin/sh\n${text}\n`, mode: 0o755 });
  const files = {
    [join(machine, "node")]: script(`[ "$1" = --version ] && echo ${version} || echo "node $*"`),
    [join(repository, "gateway/src/main.ts")]: script('echo "main $*"'),
  };
  for (const [path, { text, mode }] of Object.entries(files)) writeFileSync(path, text, { mode });
  return {
    path: repository,
    run(file, ...args) {
      const PATH = `${machine}:/usr/bin:/bin`;
      const ended = spawnSync(join(repository, file), args, { encoding: "utf8", env: { PATH } });
      return { status: ended.status, output: ended.stdout + ended.stderr };
    },
  };
}

for (const file of ["tools/launch.sh", "gateway/bin/sluice"]) {
  test(`${file} reports in one line that npm ci must run first if there is no node_modules`, (context) => {
    const { path, run } = cloneOf(context, "v20.20.2", false);
    const sentence = `Run 'npm ci' in ${path} first: it installs the packages and the Node 26 that Sluice needs.\n`;
    assert.deepEqual(run(file, "version"), { status: 1, output: sentence });
  });

  for (const [what, version] of [
    ["Node 20", "v20.20.2"],
    ["Node 25", "v25.9.9"],
    ["no Node", "sh: node: not found"],
  ] as const)
    test(`${file} reports in one line that it needs Node 26 if npm ci has installed none and the machine has ${what}`, (context) => {
      const { status, output } = cloneOf(context, `'${version}'`, true).run(file, "version");
      assert.equal(status, 1);
      assert.match(output, /^Sluice needs Node 26 or newer, .*: put one first on the PATH \(found: [^\n]*\)\.\n$/);
    });
}

test("the launcher runs programs and commands with the machine's Node if it is new enough", (context) => {
  const { run } = cloneOf(context, "v26.0.0", true);
  assert.deepEqual(run("tools/launch.sh", "tools/stages/main.ts", "a b"), {
    status: 0,
    output: "node tools/stages/main.ts a b\n",
  });
  const { status, output } = run("gateway/bin/sluice", "config", "init");
  assert.deepEqual([status, output], [0, "main config init\n"]);
});

for (const [name, file] of commands) {
  test(`${name} runs with the project's own Node when the Node on the PATH is too old`, (context) => {
    const { path } = cloneOf(context, "v20.20.2", true);
    const old = join(dirname(path), "machine");
    const version = execFileSync(join(repositoryRoot, file), ["--version"], {
      encoding: "utf8",
      // Set by `npm test`; the cache halves the start-up time of a process.
      env: { PATH: `${old}:/usr/bin:/bin`, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    });
    assert.equal(version, `${manifest.version}\n`);
  });
}

test("npm links one command for each of the three programs, and the plugin of kubectl", () => {
  assert.deepEqual(commands.map(([name]) => name).toSorted(), [
    "kubectl-sluice",
    "sluice",
    "sluice-operator",
    "sluice-user-api",
  ]);
});

for (const [name, script] of Object.entries(manifest.scripts)) {
  test(`npm run ${name} runs ${name === "format" ? "biome" : "an existing program through the launcher"}`, () => {
    const [command, program = ""] = script.split(" ");
    if (name === "format") return assert.equal(command, "biome");
    assert.equal(command, "tools/launch.sh");
    assert.ok(existsSync(join(repositoryRoot, program)), program);
  });
}

test("npm ci prints no warnings about engines on the oldest Node that the README names", (context) => {
  const [, oldest = ""] = /^>=(\d+\.\d+)$/.exec(manifest.engines.node) ?? [];
  for (const page of ["README.md", "CONTRIBUTING.md"])
    assert.ok(
      readFileSync(join(repositoryRoot, page), "utf8").includes(`Node ${oldest} or newer`),
      `${page}: Node ${oldest}`,
    );
  const folder = temporaryFolder("engines");
  context.after(() => folder.remove());
  const files = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    ...manifest.workspaces.map((one) => `${one}/package.json`),
  ];
  for (const file of files) cpSync(join(repositoryRoot, file), join(folder.path, file));
  // npm compares `engines` with the version of its own process.
  const version = `Object.defineProperty(process,'version',{value:'v${oldest}.0'})`;
  const { status, stderr } = spawnSync("npm", ["ci", "--dry-run", "--offline", "--ignore-scripts"], {
    cwd: folder.path,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${version}` },
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(
    stderr.split("\n").filter((line) => line.includes("EBADENGINE")),
    [],
  );
});
