/**
 * Pulumi's Automation API and our policy pack, with the real engine and provider on a control plane without pods:
 * external programs that deploy our stacks or use our components.
 */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { batch, core } from "@pulumi/kubernetes";
import { secret } from "@pulumi/pulumi";
import { LocalWorkspace, PulumiCommand, type PulumiFn, type Stack } from "@pulumi/pulumi/automation/index.js";
import { crdNames } from "@sluice/model";
import { Consumer, Plugin, Route, Service } from "../../../pulumi/resources/index.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const policyPack = resolve(import.meta.dirname, "../../../pulumi/policy");
const folder = temporaryFolder("automation");
let plane: ControlPlane;
let project: Project;
let pulumiCommand: PulumiCommand;
let shop: Stack;

before(async () => {
  plane = await startControlPlane({ controllers: true });
  project = await openProject({
    folder: join(folder.path, "project"),
    kubeconfig: plane.kubeconfig,
    passphrase: "of-the-suite",
  });
  const root = await installation();
  pulumiCommand = await PulumiCommand.get({ root });
  const workDir = join(folder.path, "shop");
  mkdirSync(workDir);
  const { PATH = "", ...env } = project.env;
  const [, ...others] = PATH.split(delimiter);
  shop = await LocalWorkspace.createOrSelectStack(
    { stackName: "dev", projectName: "shop", program: async () => {} },
    { workDir, pulumiCommand, envVars: { ...env, PATH: [join(root, "bin"), ...others].join(delimiter) } },
  );
});

after(async () => {
  await plane?.stop();
  folder.remove();
});

/**
 * Makes a Pulumi installation without the Node.js language host, and resolves to its folder. Programs that run inside
 * the test process need no host, and the last version of the host that was published as a Go module (3.60) does not
 * start policy packs. The script written here starts policy packs with the command that later versions use.
 */
async function installation(): Promise<string> {
  const root = join(folder.path, "pulumi");
  const pulumi = await obtainTool("pulumi");
  mkdirSync(join(root, "bin"), { recursive: true });
  for (const name of ["pulumi", "pulumi-resource-kubernetes"]) {
    symlinkSync(join(dirname(pulumi), name), join(root, "bin", name));
  }
  const packs = join(root, "bin/pulumi-analyzer-policy-nodejs");
  const runs = resolve(import.meta.dirname, "../../../node_modules/@pulumi/pulumi/cmd/run-policy-pack");
  writeFileSync(packs, `#!/bin/sh\nexec '${process.execPath}' '${runs}' "$@"\n`);
  chmodSync(packs, 0o700);
  return root;
}

test("a program creates the stack of CRDs, reads its result, and destroys it, and the CRDs remain", async () => {
  const options = { pulumiCommand, envVars: project.env };
  const crds = await LocalWorkspace.createOrSelectStack({ stackName: "crds", workDir: project.folder }, options);
  const { summary, outputs } = await crds.up();
  assert.deepEqual(
    [summary.result, summary.resourceChanges, outputs],
    ["succeeded", { create: crdNames.length + 1 }, {}],
  );
  const destroyed = await crds.destroy();
  assert.deepEqual(
    [destroyed.summary.result, destroyed.summary.resourceChanges],
    ["succeeded", { delete: crdNames.length + 1 }],
  );
  await plane.kubectl(["get", "crd", "routes.sluice.dev"]);
});

const metadata = { namespace: "shop" };

interface Parts {
  /** Whether a Plugin of the Service acts on the Route. */
  readonly limited: boolean;
  /** Tag of the CronJob's image. */
  readonly tag: string;
}

/** A program of our components that outputs the key of its consumer. */
const programOf =
  ({ limited, tag }: Parts): PulumiFn =>
  async () => {
    const dependsOn = new core.v1.Namespace("shop", { metadata: { name: "shop" } });
    const orders = new Service("orders", { metadata, url: "http://orders.shop.svc:4000" }, { dependsOn });
    if (limited) new Plugin("limit", { metadata, plugin: "rate-limiting", service: orders, config: { minute: 60 } });
    new Route("orders", { metadata, service: orders, paths: ["/orders"] });
    const key = secret("a-key-of-the-suite");
    new Consumer("laptop", { metadata, username: "demo", keys: { first: { key } } }, { dependsOn });
    const spec = { restartPolicy: "Never", containers: [containerOf(`shop/report:${tag}`)] };
    const jobTemplate = { spec: { template: { spec } } };
    const report = {
      metadata: { ...metadata, name: "report" },
      spec: { schedule: "@daily", suspend: true, jobTemplate },
    };
    new batch.v1.CronJob("report", report, { dependsOn });
    return { key };
  };

const containerOf = (image: string) => ({
  name: "report",
  image,
  resources: { limits: { memory: "64Mi" } },
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  },
});

const policyPacks = [policyPack];

test("the error for a user that may not create a program's objects contains the verb and the kind, and nothing is created", async () => {
  const { envVars } = shop.workspace;
  shop.workspace.program = programOf({ limited: true, tag: "1" });
  shop.workspace.envVars = { ...envVars, KUBECONFIG: await plane.kubeconfigFor("somebody") };
  await assert.rejects(shop.up(), /User "somebody" cannot (patch|create) resource "namespaces"/);
  shop.workspace.envVars = envVars;
  const { resources = [], pending_operations: pending = [] } = (await shop.exportStack()).deployment;
  const begun = resources.filter(({ type }: { type: string }) => /^kubernetes:/.test(type));
  assert.deepEqual([begun, pending], [[], []]);
});

test("the policy pack refuses an object that violates a rule, in `pulumi preview` and in `pulumi up`", async () => {
  shop.workspace.program = programOf({ limited: true, tag: "latest" });
  const refused =
    /\[mandatory\] +fixed-images +\(kubernetes:batch\/v1:CronJob: report\)[\s\S]*container report: .* the tag latest/;
  await assert.rejects(shop.preview({ policyPacks }), refused);
  assert.doesNotMatch(await plane.kubectl(["get", "namespaces", "--output=name"]), /shop/);
  await assert.rejects(shop.up({ policyPacks }), refused);
  await assert.rejects(plane.kubectl(["get", "cronjob/report", "--namespace=shop"]), /not found/);
});

test("the next `pulumi up`, without the violation, succeeds and marks the secrets among the outputs", async () => {
  shop.workspace.program = programOf({ limited: true, tag: "1" });
  const { summary, outputs, stdout } = await shop.up({ policyPacks });
  assert.equal(summary.result, "succeeded");
  assert.deepEqual(outputs, { key: { value: "a-key-of-the-suite", secret: true } });
  assert.doesNotMatch(stdout, /a-key-of-the-suite|\[mandatory\]|\[advisory\]/);
  await plane.kubectl(["get", "cronjob/report", "routes.sluice.dev/orders", "--namespace=shop"]);
  assert.deepEqual(await shop.outputs(), outputs);
  await shop.preview({ policyPacks, expectNoChanges: true });
});

test("a Route without Plugins is reported, and refused if the pack's config makes the rule mandatory", async () => {
  shop.workspace.program = programOf({ limited: false, tag: "1" });
  const result = await shop.preview({ policyPacks });
  assert.match(result.stdout, /\[advisory\] +no-bare-routes[\s\S]*Route orders: no Plugin acts on it/);
  const config = join(folder.path, "public.json");
  writeFileSync(config, JSON.stringify({ "no-bare-routes": "mandatory" }));
  await assert.rejects(
    shop.preview({ policyPacks, policyPackConfigs: [config] }),
    /\[mandatory\] +no-bare-routes[\s\S]*Route orders: no Plugin acts on it/,
  );
});

test("destroy leaves no object of the program", async () => {
  const { summary } = await shop.destroy();
  assert.equal(summary.result, "succeeded");
  assert.doesNotMatch(await plane.kubectl(["get", "namespaces", "--output=name"]), /shop/);
  assert.equal((await shop.exportStack()).deployment.resources, undefined);
});
