/** The npm package of the command `sluice`, installed as a user does, in an empty folder and with an empty home. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { packCli } from "../../tools/pack/pack-cli.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

const folder = temporaryFolder("pack-cli");
after(folder.remove);
const [home, work, old] = ["home", "work", "old"].map((name) => join(folder.path, name)) as [string, string, string];
const execute = promisify(execFile);

/** The environment of the user, in which `node` is a program that is too old. */
const env = { HOME: home, PATH: `${old}:/usr/bin:/bin`, NODE_OPTIONS: undefined, NODE_COMPILE_CACHE: undefined };
const sluicePath = join(work, "node_modules/.bin/sluice");
const sluice = async (...args: readonly string[]) => (await execute(sluicePath, args, { cwd: work, env })).stdout;

let tarball = "";
before(async () => {
  for (const path of [home, work, old]) mkdirSync(path);
  writeFileSync(join(old, "node"), "#!/bin/sh\necho v18.20.8\nexit 1\n", { mode: 0o755 });
  tarball = await packCli(folder.path);
  // npm's cache and registry are configured for the user's own home folder, not for `home`.
  const config = async (name: string) =>
    (await execute("npm", ["config", "get", name], { cwd: folder.path })).stdout.trim();
  const npm = { npm_config_cache: await config("cache"), npm_config_registry: await config("registry") };
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", work, tarball];
  await execute("npm", install, { cwd: work, env: { ...process.env, ...npm, HOME: home } });
});

test("the package has the licences, the console, and no sources, tests or scripts that an installation would run", async () => {
  const { stdout } = await execute("tar", ["-tzf", tarball], { maxBuffer: 2 ** 26 });
  const paths = stdout.trim().split("\n");
  for (const path of ["LICENSE", "THIRD_PARTY_LICENSES.md", "node_modules/@sluice/gateway/console/build/index.html"])
    assert.ok(paths.includes(`package/${path}`), path);
  const unwanted = /\.ts$|\.test\.js$|@sluice\/.*\/(testing|plugin-harness)|node_modules\/typescript\//;
  assert.deepEqual(
    paths.filter((path) => unwanted.test(path)),
    [],
  );
  const { stdout: text } = await execute("tar", ["-xzOf", tarball, "package/package.json"]);
  const { scripts, optionalDependencies, bin } = JSON.parse(text);
  assert.equal(scripts, undefined);
  assert.deepEqual(optionalDependencies, manifest.optionalDependencies);
  assert.deepEqual(Object.keys(bin), ["sluice", "kubectl-sluice"]);
});

test("the installed command runs on the Node of the package, although the node of the PATH is too old", async () => {
  assert.equal(await sluice("version"), `${manifest.version}\n`);
  assert.match(await sluice("--help"), /Usage: sluice/);
  assert.match(await sluice("settings"), /^SLUICE_DATABASE_BOOTSTRAP +false +default$/m);
  assert.match(await sluice("completion", "bash"), /_sluice\(\)/);
});

test("the installed sluice start serves a request, the console and sluice status, and stops at SIGTERM", async (context) => {
  await sluice("config", "init", "sluice.yml");
  const [proxy, admin] = [await freePort(), await freePort()];
  const listeners = ["--proxy-listen", `127.0.0.1:${proxy}`, "--admin-listen", `127.0.0.1:${admin}`];
  const store = ["--store", "file", "--file", "sluice.yml", "--file-writable", "--status-listen", "127.0.0.1:0"];
  const adminUrl = `http://127.0.0.1:${admin}`;
  const ready = `${adminUrl}/readyz`;
  const started = await startProcess(sluicePath, ["start", ...store, ...listeners], {
    name: "sluice",
    cwd: work,
    env,
    ready,
  });
  context.after(() => started.stop());
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${adminUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).status;
  };
  assert.equal(await post("/routes", { name: "here", paths: ["/here"] }), 201);
  const answer = {
    name: "request-termination",
    route: { name: "here" },
    config: { status_code: 200, message: "hello" },
  };
  assert.equal(await post("/plugins", answer), 201);
  assert.deepEqual(await (await fetch(`http://127.0.0.1:${proxy}/here`)).json(), { message: "hello" });
  assert.equal((await fetch(`${adminUrl}/console/`)).status, 200);
  assert.match(await sluice("status", "--admin-url", adminUrl), /served as written/);
  assert.equal((await started.stop()).code, 0, started.tail());
});
