/** The CRD of the Gateway API's ReferenceGrant, with the members that the operator reads. */

const side = (required: readonly string[]) => ({
  type: "object",
  required,
  properties: Object.fromEntries(["group", "kind", "namespace", "name"].map((name) => [name, { type: "string" }])),
});

export const referenceGrantCrd: object = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "referencegrants.gateway.networking.k8s.io",
    // Without this annotation the API server rejects a CRD in a group of Kubernetes.
    annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328" },
  },
  spec: {
    group: "gateway.networking.k8s.io",
    scope: "Namespaced",
    names: { kind: "ReferenceGrant", plural: "referencegrants", singular: "referencegrant" },
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                required: ["from", "to"],
                properties: {
                  from: { type: "array", items: side(["group", "kind", "namespace"]) },
                  to: { type: "array", items: side(["group", "kind"]) },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/**
 * A ReferenceGrant that allows resources of the kind and namespace in `from` to refer to resources of the kind in `to`
 * in the grant's own namespace. Both kinds are of the group sluice.dev.
 */
export const referenceGrant = (
  at: { readonly namespace: string; readonly name: string },
  from: { readonly kind: string; readonly namespace: string },
  to: { readonly kind: string },
): object => ({
  apiVersion: "gateway.networking.k8s.io/v1beta1",
  kind: "ReferenceGrant",
  metadata: at,
  spec: { from: [{ group: "sluice.dev", ...from }], to: [{ group: "sluice.dev", ...to }] },
});
