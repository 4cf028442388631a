/** A plugin outside the repository, from `sluice plugin new` to a package that a node loads. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { loadPlugins } from "@sluice/model";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { packSdk } from "../../../tools/pack/pack-sdk.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";

const folder = temporaryFolder("pack");
after(folder.remove);
const plugin = join(folder.path, "greeter");
const modules = join(plugin, "node_modules");
// A test run sets NODE_TEST_CONTEXT. With this variable, `node --test` in a child process would run no test.
const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
const run = (command: string, args: readonly string[], cwd = plugin) =>
  promisify(execFile)(command, args, { cwd, env });
const sluice = async (...args: readonly string[]) => run(await builtProgram("gateway"), args, folder.path);

/** Unpacks the packed SDK to where npm installs it, and links the dependencies to those of the repository. */
async function install(tarball: string): Promise<void> {
  const sdk = join(modules, "@sluice/plugin-sdk");
  mkdirSync(sdk, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", sdk, "--strip-components=1"]);
  const { dependencies, bundleDependencies } = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8"));
  const installed = Object.keys(dependencies).filter((name) => !bundleDependencies.includes(name));
  for (const name of [...installed, "@types/node", "typescript"]) {
    const to = join(modules, name);
    mkdirSync(dirname(to), { recursive: true });
    symlinkSync(join(repositoryRoot, "node_modules", name), to);
  }
}

let tarball = "";
before(async () => {
  await sluice("plugin", "new", "greeter");
  tarball = await packSdk(folder.path);
  await install(tarball);
});

test("the package of the SDK has its licence, and no helpers of Sluice's own tests", async () => {
  const { stdout } = await run("tar", ["-tzf", tarball], folder.path);
  const paths = stdout.trim().split("\n");
  assert.ok(paths.includes("package/LICENSE"));
  assert.deepEqual(
    paths.filter((path) => /\/testing[^/]*$/.test(path)),
    ["package/build/testing.js", "package/build/testing.d.ts"],
  );
});

test("the generated tests of a new plugin pass with the packed SDK", async () => {
  const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap"]);
  assert.match(stdout, /^# pass 4\n# fail 0$/m);
});

test("a generated test of a new plugin fails when the plugin does not set its header", async () => {
  const file = join(plugin, "index.ts");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("responseHeaders.set(header, greeting)", "responseHeaders.remove(greeting)"));
  await assert.rejects(run(process.execPath, ["--test", "--test-reporter=tap"]), ({ stdout }: { stdout: string }) =>
    /^not ok 1 - greeter adds a header/m.test(stdout),
  );
  writeFileSync(file, text);
});

test("a new plugin compiles against the types of the packed SDK, and the compiled package is loaded as in a node", async () => {
  await run(process.execPath, [join(repositoryRoot, "node_modules/typescript/bin/tsc")]);
  assert.deepEqual(readdirSync(join(plugin, "build")).toSorted(), [
    "index.d.ts",
    "index.js",
    "schema.d.ts",
    "schema.js",
  ]);
  const installed = join(folder.path, "node_modules/sluice-plugin-greeter");
  mkdirSync(installed, { recursive: true });
  for (const name of ["build", "package.json"]) cpSync(join(plugin, name), join(installed, name), { recursive: true });
  const loaded = await loadPlugins(["sluice-plugin-greeter"], { part: "code", from: folder.path });
  assert.deepEqual(
    loaded.value?.map(({ facts }) => facts.name),
    ["greeter"],
    JSON.stringify(loaded.violations),
  );
});

test("sluice plugin new refuses an existing folder, the name of a plugin of Sluice, and invalid names", async () => {
  const refusal = async (name: string) => {
    const { stderr } = await sluice("plugin", "new", name).then(
      () => assert.fail(),
      (error: Error & { readonly stderr: string }) => error,
    );
    return stderr;
  };
  assert.match(
    await refusal("greeter"),
    /^sluice: \/.*\/greeter already exists and is not overwritten: choose another/,
  );
  assert.match(await refusal("cors"), /^sluice: cors is a plugin that comes with Sluice: choose another name\n$/);
  assert.match(await refusal("../x"), /^sluice: '\.\.\/x' is not a valid plugin name: expected at most 64 lower-case/);
  assert.match(await refusal("My_Plugin"), /is not a valid plugin name/);
});
