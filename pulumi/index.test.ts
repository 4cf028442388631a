import assert from "node:assert/strict";
import { before, test } from "node:test";
import { runtime } from "@pulumi/pulumi";
import { type CreatedObject, registerInto } from "./testing.ts";

const registered = registerInto();
const objects = () => registered.filter(({ type }) => type.startsWith("kubernetes:"));
const find = (kind: string, name: string) =>
  objects().find(({ inputs }) => inputs.kind === kind && inputs.metadata.name === name);

before(async () => {
  // Keeps the suite from reading a real cluster by mistake.
  process.env.KUBECONFIG = "/dev/null";
  const config = {
    "sluice:namespace": "shop",
    "sluice:public": "true",
    "sluice:consumerKey": "a-key-of-the-config",
    "sluice:userApi": '{"route":{"enabled":true}}',
    "sluice:gateway": '{"autoscaling":{"enabled":true}}',
    "sluice:redis": '{"enabled":true}',
  };
  runtime.setAllConfig(config, ["sluice:consumerKey"]);
  await runtime.runInPulumiStack(() => import("./index.ts"));
  await runtime.disconnect();
});

test("both namespaces enforce Pod Security restricted, and every object has the stack's label", () => {
  for (const name of ["shop", "shop-sluice-keys"])
    assert.equal(labelsOf(find("Namespace", name)?.inputs)?.["pod-security.kubernetes.io/enforce"], "restricted");
  for (const { inputs } of objects()) assert.equal(labelsOf(inputs)?.["sluice.dev/stack"], "dev", inputs.kind);
});

test("every object has the annotation with which Pulumi reverts changes by other clients", () => {
  for (const { inputs } of objects()) {
    const { annotations } = inputs.metadata as { annotations?: Readonly<Record<string, string>> };
    assert.equal(annotations?.["pulumi.com/patchForce"], "true", inputs.kind);
  }
});

test("only objects without pods are deleted in the background", () => {
  for (const { inputs } of objects()) {
    const { annotations } = inputs.metadata as { annotations?: Readonly<Record<string, string>> };
    const expected = ["Deployment", "StatefulSet", "Namespace"].includes(inputs.kind) ? undefined : "background";
    assert.equal(annotations?.["pulumi.com/deletionPropagationPolicy"], expected, inputs.kind);
  }
});

test("each part and each of Sluice's custom resources is a component of its type", () => {
  const components = registered
    .filter(({ type }) => type.startsWith("sluice:"))
    .map(({ type, name }) => `${type} ${name}`);
  assert.deepEqual(components.toSorted(), [
    "sluice:index:AdminListener sluice-admin",
    "sluice:index:Consumer sluice-user-api-consumer",
    "sluice:index:Gateway sluice-gateway",
    "sluice:index:Operator sluice-operator",
    "sluice:index:Plugin sluice-user-api-cors",
    "sluice:index:Plugin sluice-user-api-graphql",
    "sluice:index:Plugin sluice-user-api-key-auth",
    "sluice:index:Plugin sluice-user-api-prometheus",
    "sluice:index:Plugin sluice-user-api-rate-limiting",
    "sluice:index:Redis sluice-redis",
    "sluice:index:Route sluice-user-api",
    "sluice:index:Service sluice-user-api",
    "sluice:index:Sluice sluice",
    "sluice:index:UserApi sluice-user-api",
  ]);
});

test("the entries of every Secret are sent as secrets", () => {
  const secrets = objects().filter(({ inputs }) => inputs.kind === "Secret");
  assert.deepEqual(secrets.map(({ name }) => name).toSorted(), [
    "sluice-admin",
    "sluice-operator",
    "sluice-redis",
    "sluice-user-api-gateway",
    "sluice-user-api-key",
  ]);
  for (const { secrets: members, name } of secrets)
    assert.ok(
      members.some((path) => path.startsWith("data")),
      name,
    );
});

test("the route is created after all plugins", () => {
  const kinds = objects().map(({ type }) => type.replace("kubernetes:", ""));
  const route = kinds.indexOf("sluice.dev/v1alpha1:Route");
  assert.ok(route > kinds.lastIndexOf("sluice.dev/v1alpha1:Plugin"));
});

test("with an autoscaler the Deployment does not set a number of replicas", () => {
  const spec = find("Deployment", "sluice-gateway")?.inputs.spec;
  assert.ok(typeof spec === "object" && spec !== null);
  assert.equal("replicas" in spec, false);
});

const labelsOf = (object: CreatedObject | undefined) =>
  (object?.metadata as { readonly labels?: Readonly<Record<string, string>> } | undefined)?.labels;
