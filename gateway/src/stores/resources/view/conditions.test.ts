import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { resourceKinds } from "@sluice/model";
import { buildResourceView, createViewContext, type Resources } from "./build-view.ts";
import { resourceProblems } from "./conditions.ts";

const context = createViewContext({ homeNamespace: "default", isOwn: () => true });

function viewOf(services: readonly Resource[]) {
  const resources = {
    ...Object.fromEntries([...resourceKinds, "Secret"].map((kind) => [kind, new Map()])),
    Service: new Map(services.map((one) => [`default/${one.metadata.name}`, one])),
  } as unknown as Resources;
  return buildResourceView(resources, context);
}

/** A Service with one condition that is false. */
function rejectedService(name: string, spec: object, message = "There is no target."): Resource {
  const condition = { type: "ResolvedRefs", status: "False", reason: "BackendNotFound", message };
  return {
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { name, namespace: "default", uid: name, resourceVersion: "1", generation: 1 },
    spec,
    status: { conditions: [condition] },
  } as unknown as Resource;
}

const options = { isOwn: () => true, placeOf: () => null };

for (const [missing, expected] of [
  [
    "there is no Service curt in the namespace default; x",
    "there is no Service curt in the namespace default (did you mean cart?); x",
  ],
  ["there is no Service curt in the namespace other", "there is no Service curt in the namespace other"],
  ["there is no Route curt in the namespace default", "there is no Route curt in the namespace default"],
  ["there is no Secret curt in the namespace default", "there is no Secret curt in the namespace default"],
] as const)
  test(`the message "${missing}" of a condition is shown as "${expected}"`, () => {
    const service = rejectedService("cart", { url: "http://a" }, missing);
    const [problem] = resourceProblems(viewOf([service]), options);
    assert.equal(problem?.message, expected);
    const suggested = missing === expected ? [] : [{ kind: "Service", namespace: "default", name: "cart" }];
    assert.deepEqual(problem?.suggested, suggested);
  });

test("among thousands of names, only the first missing names get suggestions", () => {
  const missing = "there is no Service curt in the namespace default";
  const services = Array.from({ length: 7000 }, (_, at) =>
    rejectedService(
      at === 0 ? "cart" : `other-service-${at}`,
      { url: "http://a" },
      at < 5 ? missing : "There is no target.",
    ),
  );
  const suggestions = resourceProblems(viewOf(services), options).map(({ suggested }) => suggested.length);
  assert.deepEqual(suggestions.slice(0, 5), [1, 1, 0, 0, 0]);
});

test("a problem of a resource names its entity, except if the entity is invalid", () => {
  const services = [
    rejectedService("valid", { url: "http://a" }),
    rejectedService("invalid", { url: "http://a", retries: -1 }),
  ];
  const view = viewOf(services);
  const [valid, invalid] = resourceProblems(view, options);
  assert.deepEqual(valid?.resource, { kind: "Service", namespace: "default", name: "valid" });
  assert.ok(valid.entity && view.held("services", valid.entity.id));
  assert.equal(invalid?.entity, null);
});
