import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import {
  BATCH,
  BATCH_COMPLETE,
  BATCH_REMOVE,
  type Condition,
  createDirectoryClient,
  type Resource,
  type ResourceClient,
  type SluiceKind,
} from "@sluice/crds";
import { deriveId, readSettings, type WaitRequest, type WaitResponse } from "@sluice/model";
import { pino } from "pino";
import { temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { makeAuthority } from "../../tools/programs/certificates.ts";
import { type Operator, startOperator } from "./operator.ts";
import { testStore } from "./saved-state/testing-store.ts";
import { operatorSettings } from "./settings.ts";
import { startTestNode, type TestNode } from "./testing-node.ts";

const TOKEN = "token-of-the-test";
/** Everything that is logged. */
const lines: string[] = [];
const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });

const service = (name: string, url = `http://${name}.test`) => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: { name },
  spec: { url },
});
const route = (name: string, paths: unknown = [`/${name}`]) => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name },
  spec: { serviceRef: { name: "users" }, paths },
});
const users = deriveId("services", "users");

/** Functions that stop the parts that a test started; called in reverse order, even if the test failed. */
const started: (() => Promise<unknown>)[] = [];
const owned = <Part>(part: Part, stop: () => Promise<unknown>): Part => {
  started.unshift(stop);
  return part;
};
async function endAll(): Promise<void> {
  for (const stop of started.splice(0)) await stop();
}

interface Scene {
  readonly directory: string;
  readonly nodes: readonly [TestNode, TestNode];
  readonly client: ResourceClient;
  readonly operator: Operator;
  write(name: string, resource: object | string): void;
}

async function node(): Promise<TestNode> {
  const made = await startTestNode(TOKEN);
  return owned(made, () => made.stop());
}

async function runOperator(directory: string, nodes: readonly TestNode[], env: Readonly<Record<string, string>> = {}) {
  const client = createDirectoryClient({ directory, log });
  owned(client, () => client.close());
  const settings = readSettings(operatorSettings, {
    SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
    SLUICE_DIRECTORY: directory,
    SLUICE_NODES: nodes.map(({ address }) => address).join(","),
    SLUICE_PUSH_TOKEN: TOKEN,
    ...env,
  });
  assert.ok(settings.value, JSON.stringify(settings.violations));
  const operator = await startOperator({
    settings: settings.value,
    client,
    log,
    pushCredentials: { credentials: { token: TOKEN } },
    store: testStore(),
  });
  return { client, operator: owned(operator, () => operator.close()) };
}

function folder(...resources: (Resource | object)[]) {
  const { path, remove } = temporaryFolder("operator");
  owned(path, async () => remove());
  const directory = join(path, "resources");
  mkdirSync(directory);
  const write = (name: string, resource: object | string) =>
    writeFileSync(join(directory, `${name}.yaml`), typeof resource === "string" ? resource : JSON.stringify(resource));
  for (const [index, resource] of resources.entries()) write(`${index}`, resource);
  return { directory, write };
}

async function scene(...resources: object[]): Promise<Scene> {
  const { directory, write } = folder(...resources);
  const nodes = [await node(), await node()] as const;
  return { directory, write, nodes, ...(await runOperator(directory, nodes)) };
}

async function get(operator: Operator, path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`http://127.0.0.1:${operator.address.port}${path}`);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function wait(operator: Operator, request: WaitRequest): Promise<WaitResponse> {
  const response = await fetch(`http://127.0.0.1:${operator.address.port}/wait`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 200);
  return (await response.json()) as WaitResponse;
}

async function conditionsOf(client: ResourceClient, kind: SluiceKind, name: string) {
  const resource = await client.get({ kind, namespace: "default", name });
  const said = (resource?.status?.conditions ?? []) as readonly Condition[];
  return Object.fromEntries(said.map((condition) => [condition.type, condition]));
}

const programmed = (client: ResourceClient, kind: SluiceKind, name: string) =>
  waitFor(async () => (await conditionsOf(client, kind, name)).Programmed?.status === "True", {
    what: `${kind} ${name} to be programmed`,
  });

const serves = ({ snapshot }: TestNode, routeName: string) =>
  snapshot?.routes.has(deriveId("routes", routeName)) === true;

const all = (nodes: readonly TestNode[], routeName: string) =>
  waitFor(() => nodes.every((one) => serves(one, routeName)), { what: `both nodes to serve ${routeName}` });

describe("the operator on a directory with two nodes", { concurrency: false }, () => {
  beforeEach(endAll);
  after(endAll);

  test("publishes one full document to each node once all resources are read, and writes conditions", async () => {
    const { nodes, client, operator } = await scene(service("users"), route("users"));
    await all(nodes, "users");
    assert.deepEqual(
      nodes.map(({ pushes }) => pushes),
      [["PUT 1"], ["PUT 1"]],
    );
    await programmed(client, "Route", "users");
    const { Accepted, ResolvedRefs, Programmed } = await conditionsOf(client, "Route", "users");
    assert.deepEqual([Accepted?.status, ResolvedRefs?.status, Programmed?.reason], ["True", "True", "Programmed"]);
    const generation = (await client.get({ kind: "Route", namespace: "default", name: "users" }))?.metadata.generation;
    assert.equal(Programmed?.observedGeneration, generation);
    assert.equal((await get(operator, "/readyz")).status, 200);
    const metrics = await fetch(`http://127.0.0.1:${operator.address.port}/metrics`).then((answer) => answer.text());
    for (const line of [/^sluice_operator_revision 1$/m, /^sluice_operator_nodes\{state="current"\} 2$/m])
      assert.match(metrics, line);
  });

  test("finds its nodes behind a headless Service, including nodes that are added later", async () => {
    const nodes = [await node(), await node()] as const;
    const slice = (...addresses: readonly TestNode[]) =>
      addresses.map(({ address }, index) => ({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `nodes-${index}`, labels: { "kubernetes.io/service-name": "nodes" } },
        addressType: "IPv4",
        ports: [{ name: "push", port: Number(new URL(address).port) }],
        endpoints: [{ addresses: ["127.0.0.1"] }],
      }));
    const { directory, write } = folder(service("users"), route("users"), ...slice(nodes[0]));
    await runOperator(directory, [], { SLUICE_NODE_SERVICE: "default/nodes" });
    await all([nodes[0]], "users");
    assert.deepEqual(nodes[1].pushes, []);
    write("later", JSON.stringify(slice(...nodes)[1]));
    await all(nodes, "users");
    assert.deepEqual(nodes[0].pushes, ["PUT 1"]);
  });

  for (const [value, message] of [
    ["nodes", /SLUICE_NODE_SERVICE: expected namespace\/name, not 'nodes'/],
    ["sluice/nodes", /SLUICE_NODE_SERVICE: SLUICE_NAMESPACES must name sluice/],
  ] as const)
    test(`refuses to start with SLUICE_NODE_SERVICE=${value} and SLUICE_NAMESPACES=default`, async () => {
      const { directory } = folder();
      const env = { SLUICE_NODE_SERVICE: value, SLUICE_NAMESPACES: "default" };
      await assert.rejects(runOperator(directory, [], env), message);
    });

  test("is not ready and publishes nothing while the directory cannot be read", async () => {
    const { directory } = folder();
    const [only] = [await node()];
    rmSync(directory, { recursive: true });
    const { operator } = await runOperator(directory, [only]);
    const { status, body } = await get(operator, "/readyz");
    assert.deepEqual([status, /Service, Route, Plugin/.test(`${body.message}`)], [503, true]);
    mkdirSync(directory);
    await waitFor(() => only.pushes.length > 0, { what: "the empty document" });
    assert.equal((await get(operator, "/readyz")).status, 200);
    assert.equal(only.snapshot?.services.size, 0);
  });

  test("pushes only the difference to both nodes when one file changes", async () => {
    const { nodes, client, write } = await scene(service("users"), route("users"));
    await programmed(client, "Route", "users");
    write("0", service("users", "http://elsewhere.test"));
    await waitFor(() => nodes.every(({ snapshot }) => snapshot?.services.get(users)?.host === "elsewhere.test"), {
      what: "the change on both nodes",
    });
    assert.deepEqual(
      nodes.map(({ pushes }) => pushes),
      [
        ["PUT 1", "PATCH 2"],
        ["PUT 1", "PATCH 2"],
      ],
    );
  });

  test("names in /status a node that is down, and continues with the other node", async () => {
    const { nodes, client, operator, write } = await scene(service("users"));
    await programmed(client, "Service", "users");
    await nodes[1].stop();
    write("late", route("late"));
    await all([nodes[0]], "late");
    await programmed(client, "Route", "late");
    const { body } = await get(operator, "/status");
    assert.deepEqual([body.acknowledged, body.lagging, body.silent], [[nodes[0].address], [], [nodes[1].address]]);
    await nodes[1].restart();
    await all([nodes[1]], "late");
  });

  test("reports the response of a node that does not accept the document, and retries", async () => {
    const { nodes, client, operator, write } = await scene(service("users"));
    await programmed(client, "Service", "users");
    nodes[1].answerWith(503);
    write("late", route("late"));
    await all([nodes[0]], "late");
    const trouble = async () => {
      const views = (await get(operator, "/status")).body.nodes as readonly {
        address: string;
        trouble: string | null;
      }[];
      return views.find(({ address }) => address === nodes[1].address)?.trouble;
    };
    await waitFor(async () => (await trouble()) === "503: refused by the test", {
      what: "the node's error to be reported",
    });
    nodes[1].answerWith(null);
    await all(nodes, "late");
    await programmed(client, "Route", "late");
  });

  test("gives a restarted node the full document, and leaves conditions unchanged", async () => {
    const { nodes, client } = await scene(service("users"), route("users"));
    await programmed(client, "Route", "users");
    const before = await conditionsOf(client, "Route", "users");
    await nodes[0].restart();
    await all(nodes, "users");
    assert.deepEqual(nodes[0].pushes, ["PUT 1", "PUT 1"]);
    assert.deepEqual(await conditionsOf(client, "Route", "users"), before);
  });

  test("pushes no document after its own restart when no resource changed", async () => {
    const { directory, nodes, client, operator } = await scene(service("users"), route("users"));
    await programmed(client, "Route", "users");
    const file = join(directory, ".status", "route", "default_users.json");
    const status = readFileSync(file, "utf8");
    await operator.close();
    const again = await runOperator(directory, nodes);
    await waitFor(async () => ((await get(again.operator, "/status")).body.acknowledged as string[]).length === 2, {
      what: "both nodes to be reported as current",
    });
    const answer = await wait(again.operator, { resources: [{ kind: "Route", namespace: "default", name: "users" }] });
    assert.equal(answer.programmed, true);
    assert.deepEqual(
      nodes.map(({ pushes }) => pushes),
      [["PUT 1"], ["PUT 1"]],
    );
    assert.equal(readFileSync(file, "utf8"), status);
  });

  test("keeps publishing all other resources while one file is broken and one resource is invalid", async () => {
    const { nodes, client, write } = await scene(service("users"), route("users"), route("other"));
    await programmed(client, "Route", "other");
    write("1", "kind: Route\n  broken: [");
    write("2", route("other", ["no-slash"]));
    write("3", route("third"));
    await all(nodes, "third");
    assert.deepEqual([serves(nodes[0], "users"), serves(nodes[0], "other")], [true, true]);
    await waitFor(async () => (await conditionsOf(client, "Route", "other")).Accepted?.status === "False", {
      what: "the condition of the invalid route",
    });
    const { Accepted, Programmed } = await conditionsOf(client, "Route", "other");
    assert.match(
      Accepted?.message ?? "",
      /spec\.paths\[0\]: should start with: \/.*; its last valid version.* is served/,
    );
    assert.equal(Programmed?.status, "False");
    write("2", route("other"));
    await programmed(client, "Route", "other");
  });

  test("answers a wait once both nodes have the write, or have dropped a deleted resource", async () => {
    const { nodes, client, operator } = await scene(service("users"));
    const written = await client.apply(
      "Route",
      { ...route("fresh"), metadata: { name: "fresh", namespace: "default" } },
      { manager: "test" },
    );
    const { name, namespace, uid, generation } = written.metadata;
    const done = await wait(operator, { resources: [{ kind: "Route", namespace, name, uid, generation }] });
    assert.deepEqual([done.programmed, done.problems, done.acknowledged.length], [true, [], 2]);
    assert.ok(nodes.every((one) => serves(one, "fresh")));
    await client.remove({ kind: "Route", namespace, name });
    const gone = await wait(operator, { resources: [{ kind: "Route", namespace, name, uid, deleted: true }] });
    assert.equal(gone.programmed, true);
    assert.ok(nodes.every((one) => !serves(one, "fresh")));
  });

  test("answers a wait for an invalid resource with its problem", async () => {
    const { client, operator } = await scene(service("users"));
    const { metadata } = await client.apply(
      "Route",
      { ...route("bad", ["x"]), metadata: { name: "bad", namespace: "default" } },
      { manager: "test" },
    );
    const { name, namespace, uid, generation } = metadata;
    const answer = await wait(operator, { resources: [{ kind: "Route", namespace, name, uid, generation }] });
    assert.equal(answer.programmed, false);
    assert.deepEqual(
      answer.problems.map(({ kind, reason }) => [kind, reason]),
      [["Route", "Invalid"]],
    );
  });

  test("pushes a certificate as soon as its Secret changes, and reveals its key only to nodes", async () => {
    const authority = await makeAuthority();
    const pairs = [1, 2].map(() => authority.issue({ name: "a.example", usage: "server" }));
    const [first, second] = await Promise.all(pairs);
    const secret = (pair: typeof first) => ({
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/tls",
      metadata: { name: "web-tls" },
      stringData: { "tls.crt": pair?.certificate, "tls.key": pair?.key },
    });
    const snis = [{ name: "a.example" }];
    const certificate = { ...service("web"), kind: "Certificate", spec: { secretRef: { name: "web-tls" }, snis } };
    const { nodes, client, write, operator } = await scene(certificate, secret(first), service("users"));
    await programmed(client, "Certificate", "web");
    const held = () => nodes.map(({ snapshot }) => [...(snapshot?.certificates.values() ?? [])].map(({ key }) => key));
    assert.deepEqual(held(), [[first?.key], [first?.key]]);
    assert.deepEqual(
      [...(nodes[0].snapshot?.snis.values() ?? [])].map(({ name }) => name),
      ["a.example"],
    );

    write("1", secret(second));
    await waitFor(() => held().every(([key]) => key === second?.key), { what: "both nodes to have the new key" });
    write("1", { ...secret(second), stringData: { "tls.crt": first?.certificate, "tls.key": second?.key } });
    await waitFor(async () => (await conditionsOf(client, "Certificate", "web")).ResolvedRefs?.reason === "Invalid", {
      what: "the condition of the broken Secret",
    });
    assert.equal(nodes[0].snapshot?.services.size, 1);
    const shown = JSON.stringify([
      lines,
      await client.get({ kind: "Certificate", namespace: "default", name: "web" }),
      await get(operator, "/status"),
    ]);
    for (const pair of [first, second])
      assert.ok(!shown.includes(pair?.key.split("\n")[1] ?? "PRIVATE"), "a private key was revealed");
    assert.doesNotMatch(shown, /PRIVATE KEY/);
  });

  test("publishes a batch completely or not at all, however long it takes to be written", async () => {
    const id = "0a1b2c3d-0000-4000-8000-000000000000";
    const marked = (resource: ReturnType<typeof route>, more: object = {}) => ({
      ...resource,
      metadata: { ...resource.metadata, annotations: { [BATCH]: `${id}/3`, ...more } },
    });
    const { nodes, write } = await scene(service("users"), route("old"), route("changed"));
    await all(nodes, "changed");
    write("1", marked(route("old"), { [BATCH_REMOVE]: id }));
    write("2", marked(route("changed", ["/elsewhere"])));
    write("4", route("beside"));
    await all(nodes, "beside");
    const paths = (name: string) => nodes[0].snapshot?.routes.get(deriveId("routes", name))?.paths ?? null;
    assert.deepEqual([paths("old"), paths("changed")], [["/old"], ["/changed"]]);
    write("3", marked(route("new"), { [BATCH_COMPLETE]: id }));
    await all(nodes, "new");
    assert.deepEqual([paths("old"), paths("changed"), paths("new")], [null, ["/elsewhere"], ["/new"]]);
  });

  test("stops at once even if a node no longer answers", async () => {
    const { nodes, client, operator } = await scene(service("users"));
    await programmed(client, "Service", "users");
    nodes[0].freeze();
    const before = performance.now();
    await Promise.all([operator.close(), operator.close()]);
    assert.ok(performance.now() - before < 1500, "closing waited for the node");
  });
});
