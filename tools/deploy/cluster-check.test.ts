import assert from "node:assert/strict";
import { test } from "node:test";
import { requiredKindsOf } from "./cluster-check.ts";

const needs = (config: Readonly<Record<string, string>>) =>
  requiredKindsOf(new Map(Object.entries(config).map(([key, text]) => [`sluice:${key}`, text]))).map(
    ({ kind, namespace }) => `${kind.split(".")[0]}${namespace === undefined ? "" : ` of ${namespace}`}`,
  );

test("a stack of CRDs needs no permission for other kinds", () => {
  assert.deepEqual(needs({ creates: "crds" }), ["customresourcedefinitions"]);
});

test("a stack in an existing namespace, with Roles alone, needs nothing outside of it", () => {
  const found = needs({ namespace: "shop", ownNamespace: "false", namespaces: '["a"]' });
  assert.ok(found.includes("deployments of shop"));
  assert.deepEqual(
    found.filter((need) => !need.endsWith(" of shop")),
    [],
  );
});

test("a stack with its own namespace needs permission for the namespace and for cluster-scoped objects", () => {
  const found = needs({ namespace: "shop", namespaces: "[]" });
  const wide = ["clusterroles", "clusterrolebindings", "ingressclasses", "validatingwebhookconfigurations"];
  for (const need of ["namespaces", ...wide]) assert.ok(found.includes(need), need);
});
