import assert from "node:assert/strict";
import { test } from "node:test";
import { MANAGED_BY, type Resource } from "@sluice/crds";
import { unusedSecrets } from "./secrets.ts";

const secret = (name: string, labels: Readonly<Record<string, string>> = { [MANAGED_BY.label]: MANAGED_BY.value }) =>
  made("Secret", "home", name, { metadata: { labels } });

function made(
  kind: string,
  namespace: string,
  name: string,
  members: { metadata?: object; spec?: Readonly<Record<string, unknown>> },
): Resource {
  const { metadata, ...rest } = members;
  return { apiVersion: "v1", kind, ...rest, metadata: { namespace, name, ...metadata } };
}

const consumer = (namespace: string, ref: object) =>
  made("Consumer", namespace, "demo", {
    spec: { username: namespace, keyAuth: [{ secretRef: { key: "key", ...ref } }] },
  });

/** Title, the resources that exist, and whether the Secret `key` of the home namespace is in use. */
const cases: readonly (readonly [string, readonly Resource[], boolean])[] = [
  ["is unused if there are no resources", [], false],
  ["is in use if a Consumer of the same namespace refers to it", [consumer("home", { name: "key" })], true],
  [
    "is in use if a Consumer of another namespace refers to it and names the home namespace",
    [consumer("team", { name: "key", namespace: "home" })],
    true,
  ],
  [
    "is unused if a Consumer of another namespace refers to a Secret of the same name in its own namespace",
    [consumer("team", { name: "key" })],
    false,
  ],
  [
    "is unused if a Consumer of the same namespace refers to a Secret of the same name in another namespace",
    [consumer("home", { name: "key", namespace: "team" })],
    false,
  ],
];
for (const [does, consumers, isUsed] of cases)
  test(`a Secret of the home namespace ${does}`, () => {
    const none = new Map<string, Resource>();
    const resources = {
      Certificate: none,
      Upstream: none,
      CACertificate: none,
      ConsumerGroup: none,
      Vault: none,
      GraphQLDocuments: none,
      Service: none,
      Route: none,
      Plugin: none,
      Consumer: new Map(consumers.map((one) => [`${one.metadata.namespace}/demo`, one])),
      Secret: new Map([
        ["home/key", secret("key")],
        ["home/foreign", secret("foreign", {})],
      ]),
    };
    const unused = unusedSecrets(resources, { homeNamespace: "home" }).map(({ metadata }) => metadata.name);
    assert.deepEqual(unused, isUsed ? [] : ["key"]);
  });
