import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crdOwnerOf } from "./crds.ts";

const by = (...managers: readonly string[]) => ({ managedFields: managers.map((manager) => ({ manager })) });
const label = (value: string) => ({ labels: { "app.kubernetes.io/managed-by": value } });
const release = { "meta.helm.sh/release-name": "kinds", "meta.helm.sh/release-namespace": "sluice" };

describe("the owner of a CRD", () => {
  for (const [what, metadata, owner] of [
    [
      "Helm if the label names it",
      { ...label("Helm"), annotations: release },
      /release kinds in the namespace sluice: upgrade/,
    ],
    ["Helm even without its annotations", label("Helm"), /Helm's release \?/],
    ["Pulumi if its provider is a field manager", by("kubectl", "pulumi-kubernetes-7a3f"), /belongs to a Pulumi stack/],
    ["Pulumi if the label names it", label("pulumi"), /belongs to a Pulumi stack/],
  ] as const)
    test(`is ${what}`, () => {
      const named = { name: "routes.sluice.dev", ...metadata };
      assert.match(crdOwnerOf({ apiVersion: "v1", kind: "CustomResourceDefinition", metadata: named }) ?? "", owner);
    });

  for (const [what, metadata] of [
    ["that only kubectl and this command wrote", by("kubectl", "kubectl-client-side-apply", "sluice-crds")],
    [
      "of which Pulumi wrote only the status",
      { managedFields: [{ manager: "pulumi-kubernetes-1", subresource: "status" }] },
    ],
    ["without labels and field managers", {}],
  ] as const)
    test(`is absent for a CRD ${what}`, () => {
      const named = { name: "routes.sluice.dev", ...metadata };
      assert.equal(crdOwnerOf({ apiVersion: "v1", kind: "CustomResourceDefinition", metadata: named }), null);
    });
});
