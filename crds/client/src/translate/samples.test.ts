import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { checkEntity, lookupHash, type ResourceKind } from "@sluice/model";
import { parseAllDocuments } from "yaml";
import type { Resource } from "../resource.ts";
import { identityOf, sluiceKindOf } from "./identity.ts";
import { describeResourceViolation, translateToEntities } from "./translate.ts";
import type { TranslateOptions } from "./translation.ts";

const samples = new URL("../../../samples/", import.meta.url);
const resources = readdirSync(samples).flatMap((file) =>
  parseAllDocuments(readFileSync(new URL(file, samples), "utf8")).map((document) => document.toJS() as Resource),
);

const found = (kind: string, namespace: string, name: string) =>
  resources.find(
    ({ kind: other, metadata }) => other === kind && metadata.namespace === namespace && metadata.name === name,
  );
const options: TranslateOptions = {
  homeNamespace: "default",
  audience: "nodes",
  resolve(kind: ResourceKind, namespace, name) {
    const resource = found(kind, namespace, name);
    return resource && identityOf(resource, "default").id;
  },
  read: (kind, namespace, name) => found(kind, namespace, name),
  isReferenceAllowed: () => false,
  namespacesOpenTo: () => [],
};
const items = resources.filter(sluiceKindOf).flatMap((resource) => translateToEntities(resource, options));
const ofCollection = (collection: string) => items.filter((item) => item.collection === collection);

test("the samples are valid", () => {
  assert.deepEqual(
    items.flatMap(({ violations }) => violations.map(describeResourceViolation)),
    [],
  );
});

test("the samples contain the resources that the README's tour uses", () => {
  const [service] = ofCollection("services");
  const [route] = ofCollection("routes");
  const { value } = checkEntity("services", service?.item);
  assert.deepEqual([value?.name, value?.host, value?.port, value?.path], ["users", "127.0.0.1", 4000, null]);
  assert.deepEqual(
    [route?.item.paths, route?.item.strip_path, route?.item.service],
    [["/users"], true, { id: value?.id }],
  );
  assert.deepEqual(
    ofCollection("keyauth_credentials").map(({ item }) => item._sluice),
    [{ key_hash: lookupHash("demo-key") }],
  );
  assert.deepEqual(
    new Map(ofCollection("plugins").map(({ item }) => [item.name, item.config])),
    new Map<unknown, unknown>([
      ["cors", { origins: ["*"] }],
      ["key-auth", {}],
      ["prometheus", { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true }],
      ["rate-limiting", { minute: 60, policy: "local" }],
    ]),
  );
  for (const { item } of ofCollection("plugins")) assert.deepEqual(item.service, { id: value?.id });
});
