/** Resolves references to other resources by name; across namespaces only with a ReferenceGrant. */
import type { NameRef, ResourceKind } from "@sluice/model";
import type { CrossNamespaceReference, Path, ResourceViolation, TranslateOptions } from "./translation.ts";

/** Kind and namespace of the referring resource, and the path of the reference, such as `["spec", "serviceRef"]`. */
export interface ReferenceOrigin {
  readonly from: CrossNamespaceReference["from"];
  readonly path: Path;
}

interface ReferenceRequest {
  readonly kind: ResourceKind;
  readonly ref: NameRef;
  /** The member of the entity that holds the reference. */
  readonly member: string;
}

/**
 * The entity's member for a reference, the violation if the reference is not allowed or its target is missing, and the
 * referenced resource if the reference is allowed. An unresolved reference is `{}`: every check rejects it, so that a
 * missing target never widens an entity's scope.
 */
export function referencePart(
  { kind, ref, member }: ReferenceRequest,
  place: ReferenceOrigin,
  options: Pick<TranslateOptions, "resolve" | "isReferenceAllowed">,
) {
  const { name, namespace = place.from.namespace } = ref;
  const refersTo = { kind, namespace, name };
  const refused = crossNamespaceViolation(refersTo, place, options);
  const id = refused ? undefined : options.resolve(kind, namespace, name);
  const missing: ResourceViolation = {
    path: [...place.path, "name"],
    message: `there is no ${kind} ${name} in the namespace ${namespace}`,
    condition: "ResolvedRefs",
    reason: `${kind}NotFound`,
  };
  return {
    members: { [member]: id === undefined ? {} : { id } },
    violations: id === undefined ? [refused ?? missing] : [],
    references: refused ? [] : [refersTo],
  };
}

const words: Readonly<Record<CrossNamespaceReference["to"]["kind"], string>> = {
  Certificate: "Certificate",
  CACertificate: "CACertificate",
  Upstream: "Upstream",
  Service: "Service of sluice.dev",
  Route: "Route",
  ConsumerGroup: "ConsumerGroup",
  Consumer: "Consumer",
  Vault: "Vault",
  GraphQLDocuments: "GraphQLDocuments",
  Plugin: "Plugin",
  ConfigMap: "ConfigMap",
  Secret: "Secret",
  CoreService: "core Service",
};

/**
 * The violation of a cross-namespace reference that is not allowed; undefined for every other reference. The message is
 * the same whether or not the target exists, because only readers of the target's namespace may know this.
 */
export function crossNamespaceViolation(
  to: CrossNamespaceReference["to"],
  { from, path }: ReferenceOrigin,
  { isReferenceAllowed }: Pick<TranslateOptions, "isReferenceAllowed">,
): ResourceViolation | undefined {
  if (to.namespace === from.namespace || isReferenceAllowed({ from, to })) return undefined;
  return {
    path,
    message:
      `the namespace ${to.namespace} does not allow a ${from.kind} of the namespace ${from.namespace} to refer to its ` +
      `${words[to.kind]} ${to.name}: create a ReferenceGrant there (gateway.networking.k8s.io/v1beta1, whose CRD ` +
      "has to be installed)",
    condition: "ResolvedRefs",
    reason: "RefNotPermitted",
  };
}
