import assert from "node:assert/strict";
import { test } from "node:test";
import { trimObject } from "./trim-object.ts";

const applied = "kubectl.kubernetes.io/last-applied-configuration";
const metadata = {
  name: "one",
  namespace: "shop",
  annotations: { [applied]: "{}", kept: "yes" },
  managedFields: [
    { manager: "kubectl", time: "2026-11-02T00:00:00Z" },
    { manager: "helm", time: "2026-11-01T00:00:00Z" },
    { manager: "sluice-operator", subresource: "status", time: "2026-11-03T00:00:00Z" },
  ],
};
const object = { metadata, spec: { paths: ["/one"] } };

test("trimObject sets apiVersion and kind, and keeps the managedFields of Sluice's kinds", () => {
  assert.deepEqual(trimObject("Route", object), { apiVersion: "sluice.dev/v1alpha1", kind: "Route", ...object });
});

test("trimObject drops the managedFields of kinds that are not Sluice's", () => {
  const { managedFields: _, ...rest } = metadata;
  assert.deepEqual(trimObject("Secret", object).metadata, rest);
});

test("without bookkeeping, trimObject drops kubectl's last applied configuration, and keeps the last manager of the managedFields", () => {
  const kept = { name: "one", namespace: "shop", annotations: { kept: "yes" } };
  const lastManager = "kubectl";
  assert.deepEqual(trimObject("Route", object, { bookkeeping: false }).metadata, { ...kept, lastManager });
  assert.deepEqual(trimObject("Secret", object, { bookkeeping: false }).metadata, kept);
  assert.deepEqual(trimObject("Route", { metadata: kept }, { bookkeeping: false }).metadata, kept);
  assert.equal(object.metadata.managedFields.length, 3, "the original object is unchanged");
});
