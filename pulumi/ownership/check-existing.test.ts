/**
 * The refusal of a stack is tested in test/e2e/deploy/pulumi-others.test.ts, because the mock engine of these tests
 * cannot end a program.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runtime } from "@pulumi/pulumi";
import { createOnce, createPulumiObject } from "../objects/create.ts";
import { type RegisteredResource, registerInto } from "../testing.ts";
import { checkBeforeCreating } from "./check-existing.ts";
import type { ExistingObject, ObjectIdentity } from "./reader.ts";

/** Starts the check for the stack `dev`, with these objects in the cluster. */
function look(there: readonly ExistingObject[]) {
  const read = async ({ metadata }: ObjectIdentity) =>
    there.find(({ metadata: { name } }) => name === metadata.name) ?? null;
  return checkBeforeCreating("dev", read);
}

const objects = (registered: readonly RegisteredResource[]) =>
  registered.filter(({ type }) => type.startsWith("kubernetes:"));

const secret = (name: string, password: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "shop" },
  data: { password },
});
const found = (name: string, stack: string, password = ""): ExistingObject => ({
  kind: "Secret",
  metadata: { name, namespace: "shop", labels: { "sluice.dev/stack": stack } },
  data: { password },
});

test("a generated value of an existing Secret is kept, and is sent as a secret", async () => {
  const registered = registerInto();
  await runtime.runInPulumiStack(async () => {
    const mayCreate = look([found("kept", "dev", "former"), found("given", "dev", "former")]);
    createOnce(secret("kept", "new"));
    createOnce(secret("made", "new"));
    createPulumiObject(secret("given", "new"));
    await mayCreate();
    return {};
  });
  await runtime.disconnect();
  const passwords = objects(registered).map(({ name, inputs, secrets }) => [name, inputs.data?.password, secrets]);
  assert.deepEqual(passwords.toSorted(), [
    ["given", "new", ["data"]],
    ["kept", "former", ["data"]],
    ["made", "new", ["data"]],
  ]);
});
