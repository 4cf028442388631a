/**
 * The real Pulumi engine and provider on a cluster of one node with real pods. The tests depend on each other, in
 * order.
 *
 * Features that this cluster cannot enforce, NetworkPolicies and the autoscaler's metrics, are compared as objects in
 * same-objects.test.ts. The suite sets the address of the LoadBalancer.
 */
import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { crdNames } from "@sluice/model";
import { type Cluster, startCluster } from "../../../tools/cluster/pods/cluster.ts";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { recoverStack, selectStack } from "../../../tools/deploy/stack.ts";
import { runImages } from "../../../tools/images/images.ts";
import { startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { typeInShell } from "../../product/printed-tour.ts";
import { type ClientPod, startClient } from "./client-pod.ts";
import { answersWhenPasted } from "./pages.ts";
import { killUp } from "./pulumi-killed.ts";
import { giveAddress, servers, startPulumiServers } from "./pulumi-servers.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = temporaryFolder("pulumi");
/** Below the folder in which the commands run, as in docs/how-to/deploy-with-pulumi.md. */
const work = join(folder.path, ".sluice");
const passphrase = "of-the-suite";
let cluster: Cluster;
let project: Project;
let client: ClientPod;
let key: string;
let coldStart: number;

const url = "http://sluice-gateway.sluice-dev.svc.cluster.local/users/graphql";
const json = { "content-type": "application/json" };
const page = { origin: "https://page.example", "access-control-request-method": "POST" };
const graphql = (query: string) => ({
  method: "POST",
  headers: { ...json, apikey: key },
  body: JSON.stringify({ query }),
});

before(async () => {
  const { tar, images: built } = await runImages();
  cluster = await startCluster({ images: [tar] });
  project = await openProject({
    folder: join(work, "pulumi"),
    kubeconfig: await cluster.outsideKubeconfig(),
    passphrase,
  });
  client = await startClient(cluster, built.gateway.name);
});

after(async () => {
  await cluster?.down();
  folder.remove();
});

async function pulumi(...args: readonly string[]): Promise<string> {
  const { code, output } = await project.run(args);
  assert.equal(code, 0, `pulumi ${args.join(" ")}\n${output}`);
  return output;
}

/** Runs `pulumi up` without a preview, because `up` itself computes the changes. */
const up = (stack: string) => pulumi("up", "--yes", "--skip-preview", "--stack", stack);

type Texts = Readonly<Record<string, string>>;

async function configure(stack: string, values: Texts, secrets: Texts = {}): Promise<void> {
  const set = (flag: string, texts: Texts) =>
    Object.entries(texts).flatMap(([path, text]) => [flag, `sluice:${path}=${text}`]);
  await pulumi(
    "config",
    "set-all",
    "--path",
    ...set("--plaintext", values),
    ...set("--secret", secrets),
    "--stack",
    stack,
  );
}

const inDev = (...args: readonly string[]) => cluster.kubectl(["--namespace=sluice-dev", ...args]);

/** The component of each pod of a stack. Fails unless all pods are Ready. */
async function readyPods(namespace: string): Promise<readonly string[]> {
  const { items } = JSON.parse(await cluster.kubectl(["get", "pods", `--namespace=${namespace}`, "--output=json"]));
  for (const { metadata, status } of items) {
    const ready = status.conditions.find(({ type }: { type: string }) => type === "Ready");
    assert.equal(ready?.status, "True", metadata.name);
  }
  return items.map(({ metadata }: { metadata: { labels: Record<string, string> } }) => {
    return metadata.labels["app.kubernetes.io/component"];
  });
}

test("`npm run deploy` installs the CRDs and the dev stack in an empty cluster: every pod is Ready, and the first request is answered", async (t) => {
  const began = performance.now();
  const command = await startProcess(process.execPath, [join(root, "tools/deploy/main.ts"), "dev"], {
    name: "npm run deploy",
    env: {
      SLUICE_WORK: work,
      PULUMI_CONFIG_PASSPHRASE: passphrase,
      KUBECONFIG: project.env.KUBECONFIG,
      PULUMI_BACKEND_URL: undefined,
    },
  });
  const { code } = await command.ended();
  assert.equal(code, 0, command.output());
  // The printed commands are run as written.
  const [, typing = ""] = /To use pulumi on this stack:\n([\s\S]*)$/.exec(command.output()) ?? [];
  assert.match(await typeInShell(`export PULUMI_CONFIG_PASSPHRASE=${passphrase}\n${typing}`), /proxyAddress +http:/);
  key = (await pulumi("stack", "output", "consumerKey", "--show-secrets", "--stack", "dev")).trim();
  const answered = async () => (await client.send(url, graphql("{ users { name } }"))).status === 200;
  await waitFor(answered, { what: "the first answer", timeout: 30_000, interval: 200 });
  coldStart = performance.now() - began;
  t.diagnostic(`from npm run deploy to the first answered request: ${(coldStart / 1000).toFixed(1)} s`);
  const parts = await readyPods("sluice-dev");
  assert.deepEqual(parts.toSorted(), ["admin", "gateway", "operator", "postgres", "redis", "user-api"]);
  const namespace = JSON.parse(await cluster.kubectl(["get", "namespace", "sluice-dev", "--output=json"]));
  assert.equal(namespace.metadata.labels["pod-security.kubernetes.io/enforce"], "restricted");
});

test('the commands in the section "Use the stack" of deploy-with-pulumi.md list users when they are pasted together', async () => {
  const { PATH, KUBECONFIG: _outside, ...env } = project.env;
  const settings = Object.entries({ ...env, PATH: `${PATH}:$PATH` }).map(
    ([name, value]) => `export ${name}="${value}"`,
  );
  const setUp = settings.join("\n");
  await answersWhenPasted(cluster, {
    page: "deploy-with-pulumi.md",
    section: "Use the stack",
    setUp,
    cwd: folder.path,
  });
});

test("a preview after the deployment finds nothing to change, even after a refresh", async () => {
  await pulumi("preview", "--expect-no-changes", "--stack", "dev");
  await pulumi("refresh", "--yes", "--expect-no-changes", "--stack", "dev");
  await pulumi("preview", "--expect-no-changes", "--stack", "dev");
});

test("another pod sends queries, mutations and subscriptions through the gateway's Service", async () => {
  const created = await client.send(
    url,
    graphql('mutation { createUser(name: "Zoe", email: "zoe@example.org") { name } }'),
  );
  assert.deepEqual([created.status, JSON.parse(created.body)], [200, { data: { createUser: { name: "Zoe" } } }]);
  const { body } = await client.send(url, graphql("{ users { name } }"));
  assert.deepEqual(JSON.parse(body), { data: { users: [{ name: "Zoe" }] } });
  const event = await client.firstEvent({
    url,
    headers: { apikey: key },
    subscription: "subscription { userCreated { name } }",
    mutation: 'mutation { createUser(name: "Live", email: "live-COUNT@example.org") { name } }',
  });
  assert.deepEqual(event, { data: { userCreated: { name: "Live" } } });
});

test("requests without a key are answered 401, and CORS allows pages of other origins", async () => {
  const { status } = await client.send(url, { ...graphql("{ users { name } }"), headers: json });
  assert.equal(status, 401);
  const preflight = await client.send(url, {
    method: "OPTIONS",
    headers: page,
  });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers["access-control-allow-origin"], "*");
});

test("a changed limit takes effect without a restart, and a request beyond it is answered 429", async () => {
  const startTimes = async () => {
    const pods = JSON.parse(await inDev("get", "pods", "--output=json")).items;
    return pods.map(({ metadata, status }: { metadata: { name: string }; status: { startTime: string } }) => [
      metadata.name,
      status.startTime,
    ]);
  };
  const before = await startTimes();
  await configure("dev", { "userApi.route.requestsPerMinute": "5" });
  await up("dev");
  const limited = async () => (await client.statuses(url, graphql("{ __typename }"), 8)).includes(429);
  await waitFor(limited, { what: "a 429 under the new limit", timeout: 30_000, interval: 500 });
  assert.deepEqual(await startTimes(), before);
  await configure("dev", { "userApi.route.requestsPerMinute": "100000" });
  await up("dev");
  const open = async () => (await client.statuses(url, graphql("{ __typename }"), 8)).every((status) => status === 200);
  await waitFor(open, { what: "the higher limit", timeout: 30_000, interval: 500 });
});

/** Kind, name, uid and generation of each custom resource of dev. */
async function customResources(): Promise<readonly string[]> {
  const { items } = JSON.parse(await inDev("get", crdNames.join(), "--output=json"));
  return items.map(
    ({ kind, metadata }: { kind: string; metadata: { name: string; uid: string; generation: number } }) =>
      `${kind} ${metadata.name} ${metadata.uid} ${metadata.generation}`,
  );
}

test("an operator that does not start and a port in use are reported; the next `pulumi up` starts the new operator, and no request fails during either command", async () => {
  const before = await customResources();
  assert.equal(before.length, 8);
  const name = "docker.io/sluice/operator";
  await cluster.run("ctr", ["--namespace=k8s.io", "images", "tag", `${name}:0.1.0`, `${name}:next`]);
  const taken = { port: 80, nodePort: 30_080 };
  const holder = { metadata: { name: "holder" }, spec: { type: "NodePort", ports: [taken] } };
  await cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "Service", ...holder }));
  const service = { "gateway.service.type": "NodePort", "gateway.service.nodePort": `${taken.nodePort}` };

  let going = true;
  const seen: number[] = [];
  const asking = (async () => {
    // Stays below the user API's own limit of 600 requests a minute.
    while (going) {
      const [statuses] = await Promise.all([client.statuses(url, graphql("{ __typename }"), 5), pause(1_000)]);
      seen.push(...statuses);
    }
  })();
  try {
    await configure("dev", { timeout: "15s", "operator.image.tag": "missing", ...service });
    const { code, output } = await project.run([
      "up",
      "--yes",
      "--skip-preview",
      "--continue-on-error",
      "--stack",
      "dev",
    ]);
    assert.notEqual(code, 0);
    assert.match(output, /spec\.ports\[0\]\.nodePort: Invalid value: 30080: provided port is already allocated/);
    assert.match(output, /sluice-operator' timed out waiting to be Ready/);
    assert.match(output, /\[operator\]\[(ErrImagePull|ImagePullBackOff)\].*sluice\/operator:missing/);

    await configure("dev", { timeout: "3m", "operator.image.tag": "next", "gateway.service.nodePort": "30081" });
    await up("dev");
  } finally {
    going = false;
    await asking;
  }
  assert.deepEqual([...new Set(seen)], [200]);
  assert.ok(seen.length > 50, `${seen.length} requests`);
  const image = "--output=jsonpath={.items[*].spec.containers[0].image}";
  const operators = () => inDev("get", "pods", "--selector=app.kubernetes.io/component=operator", image);
  const replaced = async () => (await operators()) === "sluice/operator:next";
  await waitFor(replaced, { what: "the former operators to end", timeout: 40_000, interval: 300 });
  assert.deepEqual(await customResources(), before);
  const port = "--output=jsonpath={.spec.ports[0].nodePort}";
  assert.equal(await inDev("get", "service/sluice-gateway", port), "30081");
  await pulumi("preview", "--refresh", "--expect-no-changes", "--stack", "dev");
});

test("changes by kubectl are found by refresh and reverted by `pulumi up`", async () => {
  await inDev("scale", "deployment/sluice-gateway", "--replicas=2");
  await inDev("set", "env", "deployment/sluice-admin", "SLUICE_LOG_LEVEL=debug");
  await inDev("delete", "poddisruptionbudget", "sluice-operator");
  const origins = '--patch={"spec":{"config":{"origins":["https://drift.example"]}}}';
  await inDev("patch", "plugins.sluice.dev/sluice-user-api-cors", "--type=merge", origins);
  const preflight = { method: "OPTIONS", headers: { ...page, origin: "https://drift.example" } };
  const drifted = async () =>
    (await client.send(url, preflight)).headers["access-control-allow-origin"] === "https://drift.example";
  await waitFor(drifted, { what: "the change by kubectl to be served", timeout: 30_000, interval: 300 });
  const looked = await project.run(["refresh", "--preview-only", "--expect-no-changes", "--stack", "dev"]);
  assert.notEqual(looked.code, 0, "the drift is reported");
  await pulumi("refresh", "--yes", "--stack", "dev");
  await up("dev");
  assert.equal(await inDev("get", "deployment/sluice-gateway", "--output=jsonpath={.spec.replicas}"), "1");
  const admin = JSON.parse(await inDev("get", "deployment/sluice-admin", "--output=json"));
  const { env } = admin.spec.template.spec.containers[0];
  const level = env.find(({ name }: { name: string }) => name === "SLUICE_LOG_LEVEL");
  assert.equal(level.value, "info");
  assert.doesNotMatch(await inDev("get", "plugins.sluice.dev/sluice-user-api-cors", "--output=json"), /drift\.example/);
  await inDev("get", "poddisruptionbudget/sluice-operator");
  await pulumi("preview", "--expect-no-changes", "--stack", "dev");
});

test("prod is deployed beside dev with external servers, although the first run was killed halfway", async () => {
  await startPulumiServers(cluster);
  await selectStack(project, "prod");
  // By default, the stack's pods request more CPU than a machine with two cores has.
  const cpu = { "gateway.resources.requests.cpu": "100m", "userApi.resources.requests.cpu": "100m" };
  await configure("prod", { ...servers.config, ...cpu }, servers.secrets);
  const inProd = (...args: readonly string[]) => cluster.kubectl(["--namespace=sluice-prod", ...args]);
  const begun = async () => (await inProd("get", "deployments", "--output=name")) !== "";
  await killUp(project, "prod", () =>
    waitFor(begun, { what: "a Deployment to be created", timeout: 60_000, interval: 200 }),
  );
  const locked = await project.run(["up", "--yes", "--skip-preview", "--stack", "prod"]);
  assert.notEqual(locked.code, 0, "Pulumi accepted a run despite the lock");
  assert.match(locked.output, /the stack is currently locked by/);
  const said: string[] = [];
  await recoverStack(project, "prod", (line) => said.push(line));
  assert.match(said.join("\n"), /was killed \(process \d+\): its lock is removed\./);
  assert.match(said.join("\n"), /ended in the middle of \d+ operations/);

  const address = "10.250.0.1";
  await Promise.all([up("prod"), giveAddress(cluster, "sluice-prod", address)]);
  const three = async () =>
    (await inProd("get", "hpa/sluice-gateway", "--output=jsonpath={.status.currentReplicas}")) === "3";
  await waitFor(three, { what: "the autoscaler to bring three nodes", timeout: 60_000, interval: 300 });
  await inProd("wait", "pod", "--all", "--for=condition=Ready", "--timeout=60s");
  const count = (part: string, times: number) => Array.from({ length: times }, () => part);
  const expected = [...count("admin", 1), ...count("gateway", 3), ...count("operator", 2), ...count("user-api", 3)];
  assert.deepEqual((await readyPods("sluice-prod")).toSorted(), expected);
  const apikey = (await pulumi("stack", "output", "consumerKey", "--show-secrets", "--stack", "prod")).trim();
  const query = graphql("{ users { name } }");
  const { status, body, headers } = await client.send(`http://${address}/users/graphql`, {
    ...query,
    headers: { ...query.headers, host: "users.example.com", apikey },
  });
  assert.deepEqual([status, body], [200, '{"data":{"users":[]}}']);
  assert.equal(headers["x-ratelimit-remaining-minute"], "599", "counted in Redis");
  await pulumi("preview", "--refresh", "--expect-no-changes", "--stack", "prod");
});

test("staging runs beside dev in its own namespace, and destroying dev removes all objects of dev and no object of staging", async () => {
  await selectStack(project, "staging");
  await configure("staging", small);
  await up("staging");
  assert.equal(await cluster.kubectl(["get", "deployments", "-n", "sluice-staging", "--output=name"]).then(lines), 4);
  await pulumi("destroy", "--yes", "--skip-preview", "--stack", "dev");
  const kinds = await cluster.kubectl(["api-resources", "--verbs=list", "--output=name"]);
  const names = kinds.trim().split("\n").join(",");
  const left = await cluster.kubectl(["get", names, "-A", "-l", "sluice.dev/stack=dev", "--output=name"]);
  assert.equal(left.trim(), "");
  const namespaces = await cluster.kubectl(["get", "namespaces", "--output=name"]);
  assert.doesNotMatch(namespaces, /sluice-dev/);
  assert.match(namespaces, /sluice-staging/);
  assert.equal(await cluster.kubectl(["get", "deployments", "-n", "sluice-staging", "--output=name"]).then(lines), 4);
  await cluster.kubectl(["get", "crd", "routes.sluice.dev"]);
});

const lines = (text: string): number => text.trim().split("\n").length;

/**
 * Config for a machine with two cores and without a registry: one replica each, with the images on the Kubernetes node.
 */
const small = {
  "gateway.replicas": "1",
  "userApi.replicas": "1",
  "postgres.image.repository": "sluice/test-postgres",
  "postgres.persistence.enabled": "false",
  "redis.image.repository": "sluice/test-redis",
} as const;
