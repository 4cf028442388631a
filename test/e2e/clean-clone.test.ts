/** In a clean clone of the repository: the installation, the check, and the README's commands as printed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { type StartOptions, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { readmeStepsOf } from "./readme.ts";

/** Runs a command and resolves to its output. If the command fails, the error contains the end of the output. */
async function run(command: string, args: readonly string[], options: Omit<StartOptions, "name">): Promise<string> {
  const name = `${command} ${args.join(" ")}`;
  const started = await startProcess(command, args, { name, ...options });
  const { code } = await started.ended();
  assert.equal(code, 0, `${name} failed:\n${started.tail(100)}`);
  return started.output();
}

const folder = temporaryFolder("clone");
after(() => folder.remove());
const clone = join(folder.path, "sluice");
// The variables that npm sets for its scripts must not reach the npm of another folder.
const own = Object.keys(process.env).filter((name) => /^npm_(package_|lifecycle_|config_local_prefix$)/.test(name));
const place = {
  cwd: clone,
  // npm may print warnings about the user's own npm settings, which must not fail this test: only errors are printed.
  env: {
    ...Object.fromEntries(own.map((name) => [name, undefined])),
    // Otherwise the suites' compile cache would collect entries for a clone that is deleted afterwards.
    NODE_COMPILE_CACHE: undefined,
    npm_config_loglevel: "error",
  },
};

before(async () => {
  await run("git", ["clone", "--quiet", "--no-hardlinks", repositoryRoot, clone], {});
  await run("npm", ["ci"], place);
});

test("a clean clone installs its dependencies, passes the check, and is left unchanged", async () => {
  assert.match(await run("npm", ["run", "check"], place), /^\d+ passed, 0 failed$/m);
  assert.equal(await run("git", ["status", "--porcelain"], place), "", "install and check leave the clone unchanged");
});

test("the README's tour prints the output that the README shows, in the same order", async () => {
  const steps = readmeStepsOf(readFileSync(join(clone, "README.md"), "utf8"), "A five-minute tour");
  assert.equal(steps.length, 3);
  const product = await startProcess("npm", ["start"], { ...place, name: "npm start" });
  const died = new AbortController();
  void product.exited.then(() => died.abort(new Error(product.output())));
  try {
    await waitFor(() => product.output().includes("Ctrl-C stops everything."), {
      what: "npm start to be ready",
      timeout: 60_000,
      signal: died.signal,
    });
    for (const { commands, output } of steps) {
      const printed = await run("sh", ["-c", commands], place);
      // Header lines end with a carriage return, which a terminal does not show.
      assert.equal(printed.replaceAll("\r\n", "\n"), output, commands);
    }
  } finally {
    // A terminal's Ctrl-C reaches every process of the group.
    if (!product.exit()) process.kill(-product.pid, "SIGINT");
    await product.ended();
  }
});

/** Commands of the README that run until they are stopped. */
const servers = [
  "npx sluice start",
  "SLUICE_STORE=file SLUICE_FILE=kong.yml SLUICE_FILE_WRITABLE=true npx sluice start",
];

test("the README's servers on a database and on a file start as printed, and accept a form as scripts for Kong send it", async () => {
  const page = readFileSync(join(clone, "README.md"), "utf8");
  const steps = readmeStepsOf(page, "Without a cluster: a database or a file");
  assert.equal(steps.length, servers.length);
  for (const [index, { commands, output }] of steps.entries()) {
    assert.equal(await run("sh", ["-c", commands], place), output, commands);
    const server = servers[index] ?? "";
    assert.ok(page.includes(`\`\`\`sh\n${server}\n\`\`\``), server);
    const started = await startProcess("sh", ["-c", server], {
      ...place,
      name: server,
      ready: "http://127.0.0.1:8001/",
    });
    try {
      const form = ["-sf", "http://127.0.0.1:8001/services/", "-d", "name=users", "-d", "url=http://127.0.0.1:4000"];
      assert.match(await run("curl", form, place), /"name":"users"/);
    } finally {
      if (!started.exit()) process.kill(-started.pid, "SIGINT");
      await started.ended();
    }
  }
});
