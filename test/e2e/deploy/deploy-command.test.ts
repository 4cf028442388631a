/** `npm run deploy` and the literal `pulumi up` with the real engine and provider, on a control plane without pods. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { crdNames } from "@sluice/model";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { selectStack } from "../../../tools/deploy/stack.ts";
import { freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { leftBehind } from "./left-behind.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = temporaryFolder("deploy");
const passphrase = "of-the-suite";
let plane: ControlPlane;
let project: Project;

before(async () => {
  plane = await startControlPlane({ controllers: true });
  project = await openProject({ folder: join(folder.path, "project"), kubeconfig: plane.kubeconfig, passphrase });
});

after(async () => {
  await plane?.stop();
  folder.remove();
});

async function deploy(args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const command = await startProcess(process.execPath, [join(root, "tools/deploy/main.ts"), ...args], {
    name: "npm run deploy",
    env: { SLUICE_WORK: join(folder.path, "work"), PULUMI_CONFIG_PASSPHRASE: passphrase, ...env },
  });
  const { code } = await command.ended();
  return { code, output: command.output() };
}

test("the commands of pulumi/README.md install the CRDs, then find nothing to change, and the CRDs remain when the stack is destroyed", async () => {
  // A copy, as in a clone: Pulumi writes into the folder.
  const clone = join(folder.path, "clone");
  for (const name of ["pulumi", "charts", "crds"]) {
    cpSync(join(root, name), join(clone, name), { recursive: true, filter: (path) => !path.includes("node_modules") });
  }
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const state = temporaryFolder("state");
  const pulumi = await obtainTool("pulumi");
  const run = async (...args: readonly string[]) => {
    const PULUMI_BACKEND_URL = `file://${state.path}`;
    const child = await startProcess(pulumi, args, {
      name: "pulumi",
      cwd: join(clone, "pulumi"),
      env: { ...project.env, PULUMI_BACKEND_URL },
    });
    const { code } = await child.ended();
    assert.equal(code, 0, `pulumi ${args.join(" ")}\n${child.output()}`);
    assert.doesNotMatch(child.output(), /Undefined value/);
  };
  try {
    await run("stack", "init", "crds", "--non-interactive");
    await run("up", "--yes", "--non-interactive");
    await run("preview", "--expect-no-changes", "--non-interactive");
    await run("destroy", "--yes", "--non-interactive");
  } finally {
    state.remove();
  }
  const crds = await plane.kubectl(["get", "crd", "--output=name"]);
  assert.equal(
    crds
      .trim()
      .split("\n")
      .filter((name) => name.endsWith(".sluice.dev")).length,
    crdNames.length,
  );
});

test("without a passphrase, a stack or a cluster, `npm run deploy` reports what is missing", async () => {
  const none = await deploy(["dev"], { KUBECONFIG: plane.kubeconfig, PULUMI_CONFIG_PASSPHRASE: undefined });
  assert.deepEqual([none.code, none.output.split(":")[0]], [1, "PULUMI_CONFIG_PASSPHRASE is not set"]);
  const unnamed = await deploy([], { KUBECONFIG: plane.kubeconfig });
  assert.deepEqual([unnamed.code, unnamed.output.split(":")[0]], [1, "usage"]);
  const nowhere = join(folder.path, "nowhere.kubeconfig");
  const server = `https://127.0.0.1:${await freePort()}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "a", cluster: { server } }],
    users: [{ name: "a", user: { token: "nobody-asks" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  };
  writeFileSync(nowhere, JSON.stringify(config));
  const down = await deploy(["dev"], { KUBECONFIG: nowhere });
  assert.equal(down.code, 1);
  assert.match(down.output, /no cluster answers at the address in .*nowhere\.kubeconfig: /);
});

test("the error for a user without rights lists the missing verbs, with their kinds and namespaces", async () => {
  const { code, output } = await deploy(["dev"], { KUBECONFIG: await plane.kubeconfigFor("somebody") });
  assert.equal(code, 1);
  assert.match(output, /the cluster does not grant you the permissions that the stack needs:\n {2}create namespaces\n/);
  assert.match(output, / {2}create deployments\.apps in the namespace sluice-dev\n/);
});

test("without KUBECONFIG, `npm run deploy` starts a one-node cluster, does not change the user's own Pulumi state, and stops on Ctrl-C", async () => {
  const backend = join(folder.path, "backend");
  mkdirSync(backend);
  const command = await startProcess(process.execPath, [join(root, "tools/deploy/main.ts"), "dev", "--preview"], {
    name: "npm run deploy",
    env: {
      SLUICE_WORK: join(folder.path, "work"),
      PULUMI_CONFIG_PASSPHRASE: passphrase,
      PULUMI_BACKEND_URL: `file://${backend}`,
      KUBECONFIG: undefined,
    },
    ready: /The cluster runs until Ctrl-C/,
    // The start takes a minute and a half on two busy cores; the test must also pass on a much slower machine.
    timeout: 600_000,
  });
  after(() => command.exit() ?? command.kill9());
  assert.match(command.output(), /\+ .*sluice-gateway +create/);
  const [, kubeconfig = ""] = /export KUBECONFIG=(\S+)/.exec(command.output()) ?? [];
  assert.ok(existsSync(kubeconfig), kubeconfig);
  command.signal("SIGINT");
  await command.ended();
  assert.match(command.output(), /Stopping the cluster without draining its pods\./);
  assert.deepEqual(leftBehind(dirname(kubeconfig)), []);
  assert.deepEqual(readdirSync(backend), []);
});

test("Pulumi reports an invalid config value with its key, its stack and the command to set it, and creates nothing", async () => {
  await selectStack(project, "staging");
  await project.run(["config", "set", "--path", "sluice:gateway.replicas", "many", "--stack", "staging"]);
  const { code, output } = await project.run(["up", "--yes", "--stack", "staging"]);
  assert.notEqual(code, 0);
  assert.match(
    output,
    /The config of stack staging has faults:\n\s+sluice:gateway\.replicas: must be integer, not "many"/,
  );
  assert.match(output, /Set it: pulumi config set --stack staging --path sluice:gateway\.replicas/);
  assert.doesNotMatch(await plane.kubectl(["get", "namespaces", "--output=name"]), /sluice-staging/);
});

test("a production stack reports its missing config; with its secrets the preview is correct and shows no secret", async () => {
  await selectStack(project, "prod");
  const lacking = await project.run(["preview", "--stack", "prod"]);
  assert.notEqual(lacking.code, 0);
  assert.match(lacking.output, /sluice:userApi\.replicas: more than one replica requires a Postgres server/);
  const secrets = { databaseUrl: "postgres://users:s3cretword@db.example/users", redisPassword: "an0therword" };
  const pairs = Object.entries(secrets).flatMap(([name, text]) => ["--secret", `sluice:${name}=${text}`]);
  await project.run(["config", "set-all", ...pairs, "--stack", "prod"]);
  const { code, output } = await project.run(["preview", "--diff", "--stack", "prod"]);
  assert.equal(code, 0, output);
  assert.match(output, /HorizontalPodAutoscaler/);
  assert.doesNotMatch(output, /s3cretword|an0therword/);
  assert.doesNotMatch(output, new RegExp(Buffer.from(secrets.redisPassword).toString("base64")));
});
