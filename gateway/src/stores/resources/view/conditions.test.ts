import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { resourceKinds } from "@sluice/model";
import { buildResourceView, createViewContext, type Resources } from "./build-view.ts";
import { resourceProblems } from "./conditions.ts";

const context = createViewContext({ homeNamespace: "default", isOwn: () => true });

/** A Service with one condition that is false. */
function rejectedService(name: string, spec: object): Resource {
  const condition = {
    type: "ResolvedRefs",
    status: "False",
    reason: "BackendNotFound",
    message: "There is no target.",
  };
  return {
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { name, namespace: "default", uid: name, resourceVersion: "1", generation: 1 },
    spec,
    status: { conditions: [condition] },
  } as unknown as Resource;
}

test("a problem of a resource names its entity, except if the entity is invalid", () => {
  const services = [
    rejectedService("valid", { url: "http://a" }),
    rejectedService("invalid", { url: "http://a", retries: -1 }),
  ];
  const resources = {
    ...Object.fromEntries([...resourceKinds, "Secret"].map((kind) => [kind, new Map()])),
    Service: new Map(services.map((one) => [`default/${one.metadata.name}`, one])),
  } as unknown as Resources;
  const view = buildResourceView(resources, context);
  const [valid, invalid] = resourceProblems(view, () => true);
  assert.deepEqual(valid?.resource, { kind: "Service", namespace: "default", name: "valid" });
  assert.ok(valid.entity && view.held("services", valid.entity.id));
  assert.equal(invalid?.entity, null);
});
