import assert from "node:assert/strict";
import { before, test } from "node:test";
import { runtime } from "@pulumi/pulumi";
import { type KubernetesObject, known, readObjects, registerInto } from "./testing.ts";

const byName = (objects: readonly KubernetesObject[]) =>
  Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));

const registered = registerInto();
const objects = () => registered.filter(({ type }) => type.startsWith("kubernetes:"));

before(async () => {
  runtime.setAllConfig({
    "sluice:namespace": "default",
    "sluice:userApiUrl": "http://127.0.0.1:4000",
    "sluice:requestsPerMinute": "60",
    "sluice:demoKey": "demo-key",
  });
  const { created } = await import("./index.ts");
  for (const urn of created) await known(urn);
  await runtime.disconnect();
});

test("the program creates the samples, object by object", () => {
  assert.deepEqual(byName(objects().map(({ inputs }) => inputs)), byName(readObjects("crds/samples")));
});

test("each object stands in a component of its name, a Secret's name begins with it", () => {
  assert.deepEqual(registered.map(({ type, name }) => `${type} ${name}`).toSorted(), [
    "kubernetes:core/v1:Secret demo-key",
    "kubernetes:sluice.dev/v1alpha1:Consumer demo",
    "kubernetes:sluice.dev/v1alpha1:Plugin users-cors",
    "kubernetes:sluice.dev/v1alpha1:Plugin users-key-auth",
    "kubernetes:sluice.dev/v1alpha1:Plugin users-prometheus",
    "kubernetes:sluice.dev/v1alpha1:Plugin users-rate-limiting",
    "kubernetes:sluice.dev/v1alpha1:Route users",
    "kubernetes:sluice.dev/v1alpha1:Service users",
    "sluice:index:Consumer demo",
    "sluice:index:Plugin users-cors",
    "sluice:index:Plugin users-key-auth",
    "sluice:index:Plugin users-prometheus",
    "sluice:index:Plugin users-rate-limiting",
    "sluice:index:Route users",
    "sluice:index:Service users",
  ]);
});

test("the route is created after all plugins", () => {
  assert.equal(objects().at(-1)?.inputs.kind, "Route");
});
