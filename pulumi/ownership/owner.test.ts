import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { othersClaim } from "./check-existing.ts";

const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
const helm = { labels: { "app.kubernetes.io/managed-by": "Helm" } };
const release = { "meta.helm.sh/release-name": "edge", "meta.helm.sh/release-namespace": "shop" };

const claim = (metadata: object) =>
  othersClaim({ kind: "Secret", metadata: { name: "key", namespace: "shop", ...metadata } }, "dev");

describe("the owner of an existing object", () => {
  for (const [what, metadata, expected] of [
    ["another stack's", { labels: { "sluice.dev/stack": "prod" } }, "belongs to the stack prod"],
    ["Helm's", { ...helm, annotations: release }, "belongs to Helm's release edge in the namespace shop"],
    ["Helm's without its annotations", helm, "belongs to Helm's release ? in the namespace ?"],
    ["kubectl's", by("kubectl-client-side-apply", "kubectl"), "already exists, created with kubectl"],
    ["sluice-operator's", by("sluice-crds"), "already exists, created with sluice-operator crds apply"],
    ["another Pulumi program's", by("pulumi-kubernetes-7a3f"), "already exists, created with pulumi-kubernetes-7a3f"],
    [
      "an unknown creator's, with a controller that only writes the status",
      { managedFields: [{ manager: "kube-controller-manager", subresource: "status" }] },
      "already exists, created with something else",
    ],
  ] as const)
    test(what, () => assert.equal(claim(metadata), `the Secret key in the namespace shop ${expected}`));

  test("a cluster-scoped object is named without a namespace", () => {
    const found = { kind: "Namespace", metadata: { name: "shop", labels: { "sluice.dev/stack": "prod" } } };
    assert.equal(othersClaim(found, "dev"), "the Namespace shop belongs to the stack prod");
  });

  test("an object with the stack's label belongs to the stack, whichever client changed it", () => {
    assert.equal(claim({ labels: { "sluice.dev/stack": "dev" }, ...by("pulumi-kubernetes-7a3f", "kubectl") }), null);
  });
});
