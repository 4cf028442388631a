import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { othersClaim } from "./check-existing.ts";

const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
const helm = { labels: { "app.kubernetes.io/managed-by": "Helm" } };
const release = { "meta.helm.sh/release-name": "edge", "meta.helm.sh/release-namespace": "shop" };

const claim = (metadata: object) =>
  othersClaim({ kind: "Secret", metadata: { name: "key", namespace: "shop", ...metadata } }, "dev");

describe("an existing object", () => {
  for (const [what, metadata, expected] of [
    ["of another stack", { labels: { "sluice.dev/stack": "prod" } }, "belongs to the stack prod"],
    ["of a Helm release", { ...helm, annotations: release }, "belongs to Helm's release edge in the namespace shop"],
    ["of Helm without annotations", helm, "belongs to Helm's release ? in the namespace ?"],
    ["created with kubectl", by("kubectl-client-side-apply", "kubectl"), "already exists, created with kubectl"],
    ["created with sluice-operator", by("sluice-crds"), "already exists, created with sluice-operator crds apply"],
    [
      "created by another Pulumi program",
      by("pulumi-kubernetes-7a3f"),
      "already exists, created with pulumi-kubernetes-7a3f",
    ],
    [
      "of an unknown creator, with a status that a controller writes,",
      { managedFields: [{ manager: "kube-controller-manager", subresource: "status" }] },
      "already exists, created with an unknown program",
    ],
  ] as const)
    test(`${what} is reported: ${expected}`, () =>
      assert.equal(claim(metadata), `the Secret key in the namespace shop ${expected}`));

  test("that is cluster-scoped is named without a namespace", () => {
    const found = { kind: "Namespace", metadata: { name: "shop", labels: { "sluice.dev/stack": "prod" } } };
    assert.equal(othersClaim(found, "dev"), "the Namespace shop belongs to the stack prod");
  });

  test("with the stack's label belongs to the stack, whichever client changed it", () => {
    assert.equal(claim({ labels: { "sluice.dev/stack": "dev" }, ...by("pulumi-kubernetes-7a3f", "kubectl") }), null);
  });
});
