/**
 * The real Pulumi engine and provider on a cluster of one node with real pods. The tests are one story, in order.
 *
 * What this cluster cannot enforce is compared as objects in same-objects.test.ts: NetworkPolicies, the autoscaler's
 * metrics, LoadBalancers.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cluster, startCluster } from "../../cluster/pods/cluster.ts";
import { openProject, type Project } from "../../deploy/project.ts";
import { selectStack } from "../../deploy/stack.ts";
import { images } from "../../images/images.ts";
import { temporaryFolder, waitFor } from "../../process/index.ts";
import { type ClientPod, startClient } from "./client-pod.ts";

const folder = temporaryFolder("pulumi");
let cluster: Cluster;
let project: Project;
let client: ClientPod;
let key: string;
let coldStart: number;

const url = "http://sluice-gateway.sluice-dev.svc.cluster.local/users/graphql";
const json = { "content-type": "application/json" };
const graphql = (query: string) => ({
  method: "POST",
  headers: { ...json, apikey: key },
  body: JSON.stringify({ query }),
});

before(async () => {
  const { tar, images: built } = await images();
  cluster = await startCluster({ images: [tar] });
  project = await openProject({
    folder: folder.path,
    kubeconfig: await cluster.outsideKubeconfig(),
    passphrase: "of-the-suite",
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

async function up(stack: string): Promise<void> {
  await selectStack(project, stack);
  await pulumi("up", "--yes", "--stack", stack);
}

const inDev = (...args: readonly string[]) => cluster.kubectl(["--namespace=sluice-dev", ...args]);

test("the CRDs come first, from a stack of their own", () => up("crds"));

test("up of dev from nothing brings every pod to Ready, and the first request is answered", async (t) => {
  const began = performance.now();
  await up("dev");
  key = (await pulumi("stack", "output", "consumerKey", "--show-secrets", "--stack", "dev")).trim();
  const answered = async () => (await client.send(url, graphql("{ users { name } }"))).status === 200;
  await waitFor(answered, { what: "the first answer", timeout: 30_000, interval: 200 });
  coldStart = performance.now() - began;
  t.diagnostic(`from pulumi up to the first answered request: ${(coldStart / 1000).toFixed(1)} s`);
  const pods = JSON.parse(await inDev("get", "pods", "--output=json")).items;
  assert.equal(pods.length, 6, "operator, gateway, admin, user API, Postgres, Redis");
  for (const { metadata, status } of pods) {
    const ready = status.conditions.find(({ type }: { type: string }) => type === "Ready");
    assert.equal(ready?.status, "True", metadata.name);
  }
  const namespace = JSON.parse(await cluster.kubectl(["get", "namespace", "sluice-dev", "--output=json"]));
  assert.equal(namespace.metadata.labels["pod-security.kubernetes.io/enforce"], "restricted");
});

test("a second preview finds nothing to change, after a look at the cluster too", async () => {
  await pulumi("preview", "--expect-no-changes", "--stack", "dev");
  await pulumi("refresh", "--yes", "--expect-no-changes", "--stack", "dev");
  await pulumi("preview", "--expect-no-changes", "--stack", "dev");
});

test("another pod queries, changes and subscribes through the gateway's Service", async () => {
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

test("without a key 401, and pages of other origins are answered by CORS", async () => {
  const { status } = await client.send(url, { ...graphql("{ users { name } }"), headers: json });
  assert.equal(status, 401);
  const preflight = await client.send(url, {
    method: "OPTIONS",
    headers: { origin: "https://page.example", "access-control-request-method": "POST" },
  });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers["access-control-allow-origin"], "*");
});

test("a limit that is changed holds without a restart, and one beyond it is 429", async () => {
  const startTimes = async () => {
    const pods = JSON.parse(await inDev("get", "pods", "--output=json")).items;
    return pods.map(({ metadata, status }: { metadata: { name: string }; status: { startTime: string } }) => [
      metadata.name,
      status.startTime,
    ]);
  };
  const before = await startTimes();
  await pulumi("config", "set", "--path", "sluice:userApi.route.requestsPerMinute", "5", "--stack", "dev");
  await up("dev");
  const limited = async () => (await client.statuses(url, graphql("{ __typename }"), 8)).includes(429);
  await waitFor(limited, { what: "a 429 under the new limit", timeout: 30_000, interval: 500 });
  assert.deepEqual(await startTimes(), before);
  await pulumi("config", "set", "--path", "sluice:userApi.route.requestsPerMinute", "100000", "--stack", "dev");
  await up("dev");
  const open = async () => (await client.statuses(url, graphql("{ __typename }"), 8)).every((status) => status === 200);
  await waitFor(open, { what: "the greater limit", timeout: 30_000, interval: 500 });
});

test("what kubectl changed is found by refresh and repaired by up", async () => {
  await inDev("scale", "deployment/sluice-gateway", "--replicas=2");
  await inDev("set", "env", "deployment/sluice-admin", "SLUICE_LOG_LEVEL=debug");
  await inDev("delete", "poddisruptionbudget", "sluice-operator");
  const origins = '--patch={"spec":{"config":{"origins":["https://drift.example"]}}}';
  await inDev("patch", "plugins.sluice.dev/sluice-user-api-cors", "--type=merge", origins);
  const looked = await project.run(["refresh", "--preview-only", "--expect-no-changes", "--stack", "dev"]);
  assert.notEqual(looked.code, 0, "the drift is told");
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

test("staging stands beside it in its own namespace, and destroy of dev leaves nothing of dev and all of staging", async () => {
  await selectStack(project, "staging");
  for (const [path, value] of Object.entries(small)) {
    await pulumi("config", "set", "--path", `sluice:${path}`, value, "--stack", "staging");
  }
  await up("staging");
  assert.equal(await cluster.kubectl(["get", "deployments", "-n", "sluice-staging", "--output=name"]).then(lines), 4);
  await pulumi("destroy", "--yes", "--stack", "dev");
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

/** What differs on two cores without a registry: one of each, from the images that are there. */
const small = {
  "gateway.replicas": "1",
  "userApi.replicas": "1",
  "postgres.image.repository": "sluice/test-postgres",
  "postgres.persistence.enabled": "false",
  "redis.image.repository": "sluice/test-redis",
} as const;
