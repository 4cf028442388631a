/** Runs the commands of docs/how-to/deploy-with-pulumi.md as written, with the real Pulumi and without a cluster. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { commandBlocksOf } from "./pages.ts";

const page = "deploy-with-pulumi.md";
const folder = temporaryFolder("deploy-page");
let project: Project;

before(async () => {
  const kubeconfig = join(folder.path, "none.kubeconfig");
  project = await openProject({ folder: join(folder.path, "pulumi"), kubeconfig, passphrase: "of-the-suite" });
});

after(() => folder.remove());

/** Runs commands in the project's folder, as on the page, and sends the answer to their prompt. */
async function type(commands: string, answer = ""): Promise<void> {
  const { folder: cwd, env } = project;
  const shell = spawn("sh", ["-e", "-c", commands], { cwd, env: { ...process.env, ...env } });
  shell.stdin.end(`${answer}\n`);
  const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "close")]);
  assert.equal(code, 0, `${commands}${stdout}${stderr}`);
}

interface Entry {
  readonly value: string;
  readonly secret: boolean;
  readonly objectValue?: object;
}

async function configOf(stack: string): Promise<Readonly<Record<string, Entry>>> {
  const { code, output } = await project.run(["config", "--json", "--show-secrets", "--stack", stack]);
  assert.equal(code, 0, output);
  return JSON.parse(output.slice(output.indexOf("{")));
}

test('the commands in the section "Production" configure a stack, and store the values that they prompt for as secrets', async () => {
  const blocks = commandBlocksOf(page, "Production");
  assert.equal(blocks.at(-1), "pulumi up\n");
  const secrets = { databaseUrl: "postgres://users:s3cretword@db.example/users", redisPassword: "an0therword" };
  for (const block of blocks.slice(0, -1)) {
    const [, asked] = /--secret sluice:(\w+)\n$/.exec(block) ?? [];
    await type(block, asked && secrets[asked as keyof typeof secrets]);
  }
  const config = await configOf("prod");
  for (const [name, value] of Object.entries(secrets)) {
    const entry = config[`sluice:${name}`];
    assert.deepEqual([entry?.value, entry?.secret], [value, true], name);
  }
  assert.partialDeepStrictEqual(config["sluice:redis"]?.objectValue, { host: "redis.internal", tls: true });
  assert.partialDeepStrictEqual(config["sluice:userApi"]?.objectValue, { route: { hosts: ["users.example.com"] } });
  assert.deepEqual(config["sluice:image"]?.objectValue, { registry: "images.example.com" });
  // The first block can be run again, although its results exist.
  await type(blocks[0] ?? "");
});

test('the command in the section "Change the stack" sets one value and keeps the others', async () => {
  // On the page, `npm run deploy -- dev` has already created the stack.
  await type("pulumi stack select --create dev");
  const [block = ""] = commandBlocksOf(page, "Change the stack");
  const [line = "", ...others] = block.split("\n");
  await type(line);
  assert.deepEqual(others, ["pulumi preview --diff --stack dev", "pulumi up --stack dev", ""]);
  const config = await configOf("dev");
  assert.deepEqual(config["sluice:userApi"]?.objectValue, { route: { enabled: true, requestsPerMinute: 600 } });
});
