import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { othersClaim } from "./owner.ts";

const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
const helm = { labels: { "app.kubernetes.io/managed-by": "Helm" } };
const release = { "meta.helm.sh/release-name": "edge", "meta.helm.sh/release-namespace": "shop" };

const claim = (metadata: object) =>
  othersClaim({ kind: "Secret", metadata: { name: "key", namespace: "shop", ...metadata } }, "dev");

describe("whose an object is that a stack finds", () => {
  for (const [what, metadata, expected] of [
    ["another stack's", { labels: { "sluice.dev/stack": "prod" } }, "belongs to the stack prod"],
    ["Helm's", { ...helm, annotations: release }, "belongs to Helm's release edge in the namespace shop"],
    ["Helm's without its annotations", helm, "belongs to Helm's release ? in the namespace ?"],
    ["kubectl's", by("kubectl-client-side-apply", "kubectl"), "is there already, made with kubectl"],
    ["our own command's", by("sluice-crds"), "is there already, made with sluice-operator crds apply"],
    ["another program's of Pulumi", by("pulumi-kubernetes-7a3f"), "is there already, made with pulumi-kubernetes-7a3f"],
    [
      "of somebody of whom a controller only writes the status",
      { managedFields: [{ manager: "kube-controller-manager", subresource: "status" }] },
      "is there already, made with something else",
    ],
  ] as const)
    test(what, () => assert.equal(claim(metadata), `the Secret key in the namespace shop ${expected}`));

  test("what lies in no namespace is named without one", () => {
    const found = { kind: "Namespace", metadata: { name: "shop", labels: { "sluice.dev/stack": "prod" } } };
    assert.equal(othersClaim(found, "dev"), "the Namespace shop belongs to the stack prod");
  });

  test("what bears the stack's label is its own, whoever wrote into it since", () => {
    assert.equal(claim({ labels: { "sluice.dev/stack": "dev" }, ...by("pulumi-kubernetes-7a3f", "kubectl") }), null);
  });
});
