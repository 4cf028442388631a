import assert from "node:assert/strict";
import { test } from "node:test";
import { trimObject } from "./trim-object.ts";

const applied = "kubectl.kubernetes.io/last-applied-configuration";
const metadata = {
  name: "one",
  namespace: "shop",
  annotations: { [applied]: "{}", kept: "yes" },
  managedFields: [{ manager: "kubectl" }],
};
const object = { metadata, spec: { paths: ["/one"] } };

test("trimObject sets apiVersion and kind, and keeps the managedFields of Sluice's kinds", () => {
  assert.deepEqual(trimObject("Route", object), { apiVersion: "sluice.dev/v1alpha1", kind: "Route", ...object });
});

test("trimObject drops the managedFields of kinds that are not Sluice's", () => {
  const { managedFields: _, ...rest } = metadata;
  assert.deepEqual(trimObject("Secret", object).metadata, rest);
});

test("without bookkeeping, trimObject drops managedFields and kubectl's last applied configuration", () => {
  const kept = { name: "one", namespace: "shop", annotations: { kept: "yes" } };
  assert.deepEqual(trimObject("Route", object, { bookkeeping: false }).metadata, kept);
  assert.deepEqual(trimObject("Route", { metadata: kept }, { bookkeeping: false }).metadata, kept);
  assert.equal(object.metadata.managedFields.length, 1, "the original object is unchanged");
});
