import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ref, Resource } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { privateSecretsOf } from "./private-secrets.ts";
import { operatorSettings } from "./settings.ts";

const at = (namespace: string, name: string) => `${namespace}/${name}`;

/** Secrets by `namespace/name`, each with one entry that contains its original namespace. */
function createSecrets(...places: readonly string[]) {
  const secrets = new Map(places.map((place) => [place, made(place)] as const));
  return {
    secrets,
    texts: () =>
      Object.fromEntries(
        [...secrets].map(([place, { data }]) => [place, Buffer.from(data?.from ?? "", "base64").toString()]),
      ),
    client: {
      get: async ({ namespace, name }: Ref) => secrets.get(at(namespace, name)) ?? null,
      async apply(_kind: string, resource: Resource) {
        secrets.set(at(resource.metadata.namespace, resource.metadata.name), resource);
        return resource;
      },
      remove: async ({ namespace, name }: Ref) => secrets.delete(at(namespace, name)),
    },
  };
}

function made(place: string): Resource {
  const [namespace = "", name = ""] = place.split("/");
  const data = { from: Buffer.from(namespace).toString("base64") };
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name, uid: place }, data };
}

function settingsOf(env: Readonly<Record<string, string>>) {
  const { value, violations } = readSettings(operatorSettings, {
    SLUICE_HOME_NAMESPACE: "home",
    SLUICE_PUSH_SECRET: "push",
    SLUICE_WEBHOOK_LISTEN: "127.0.0.1:9443",
    ...env,
  });
  assert.ok(value, JSON.stringify(violations));
  return value;
}

const options = { manager: "test", log: { info() {}, warn() {} }, signal: new AbortController().signal };
const apart = settingsOf({ SLUICE_PRIVATE_NAMESPACE: "apart" });

test("Secrets of version 0.1 are moved out of the home namespace, except those that nodes mount", async () => {
  const { client, texts, secrets } = createSecrets(
    "home/push",
    "home/push-authority",
    "home/sluice-webhook",
    "home/sluice-operator-document",
  );
  const own = privateSecretsOf(apart);
  assert.deepEqual([own.namespace, own.isMoved()], ["apart", false]);
  const before = await own.reading(client as never).get({ kind: "Secret", namespace: "apart", name: "push-authority" });
  assert.equal(before?.metadata.namespace, "home", "before the move, the Secret is read from the home namespace");
  const store = {
    async key() {
      secrets.set("apart/sluice-operator-document", made("home/sluice-operator-document"));
      return Buffer.alloc(32);
    },
  };
  await own.move({ ...options, client: client as never, store, leads: () => true });
  assert.equal(own.isMoved(), true);
  assert.deepEqual(texts(), {
    "home/push": "home",
    "apart/push-authority": "home",
    "apart/sluice-webhook": "home",
    "apart/sluice-operator-document": "home",
  });
});

test("a Secret that is already in the private namespace stays, and the old Secret is deleted", async () => {
  const { client, texts } = createSecrets("home/push-authority", "apart/push-authority");
  const own = privateSecretsOf(apart);
  await own.move({ ...options, client: client as never, store: undefined, leads: () => true });
  assert.deepEqual(texts(), { "apart/push-authority": "apart" });
});

test("no Secret is moved while the operator does not lead, or if the private namespace is the home namespace", async () => {
  const { client, texts } = createSecrets("home/push-authority");
  const follower = privateSecretsOf(apart);
  await follower.move({ ...options, client: client as never, store: undefined, leads: () => false });
  const own = privateSecretsOf(settingsOf({}));
  assert.deepEqual([own.namespace, own.isMoved(), follower.isMoved()], ["home", true, false]);
  await own.move({ ...options, client: client as never, store: undefined, leads: () => true });
  assert.deepEqual(texts(), { "home/push-authority": "home" });
});

test("a failed move is retried as long as the operator leads", async () => {
  const { client, texts } = createSecrets("home/push-authority");
  const warnings: string[] = [];
  let failures = 2;
  const failing = {
    ...client,
    async remove(ref: Ref) {
      if (failures-- > 0) throw new Error("no answer");
      return client.remove(ref);
    },
  };
  const log = { info() {}, warn: (_details: object, message?: string) => void warnings.push(message ?? "") };
  const own = privateSecretsOf(apart);
  await own.move({ ...options, client: failing as never, store: undefined, leads: () => true, log, interval: 1 });
  assert.deepEqual(texts(), { "apart/push-authority": "home" });
  assert.deepEqual(warnings, ["cannot move the operator's Secrets out of the home namespace"]);
});
