/** Resolves references to other resources by name; across namespaces only with a ReferenceGrant. */
import type { NameRef, ResourceKind } from "@sluice/model";
import type {
  CrossNamespaceReference,
  Path,
  ReferencedResource,
  ResourceViolation,
  TranslateOptions,
} from "./translation.ts";

/** The referring resource and the position of the reference, such as `["spec", "serviceRef"]`. */
export interface ReferenceOrigin {
  readonly from: CrossNamespaceReference["from"];
  readonly path: Path;
}

export interface ResolvedReference {
  /** `{}` when unresolved: every check rejects it, so that a missing target never widens an entity's scope. */
  readonly reference: { readonly id?: string };
  readonly violations: readonly ResourceViolation[];
  /** The referenced resource, whether or not it exists; null if the reference is not allowed. */
  readonly refersTo: ReferencedResource | null;
}

export function resolveReference(
  kind: ResourceKind,
  ref: NameRef,
  place: ReferenceOrigin,
  options: Pick<TranslateOptions, "resolve" | "isReferenceAllowed">,
): ResolvedReference {
  const { name, namespace = place.from.namespace } = ref;
  const refused = crossNamespaceViolation({ kind, namespace, name }, place, options);
  if (refused) return { reference: {}, violations: [refused], refersTo: null };
  const refersTo = { kind, namespace, name };
  const id = options.resolve(kind, namespace, name);
  if (id !== undefined) return { reference: { id }, violations: [], refersTo };
  const path = [...place.path, "name"];
  const message = `there is no ${kind} ${name} in the namespace ${namespace}`;
  return {
    reference: {},
    violations: [{ path, message, condition: "ResolvedRefs", reason: `${kind}NotFound` }],
    refersTo,
  };
}

const words: Readonly<Record<CrossNamespaceReference["to"]["kind"], string>> = {
  Certificate: "Certificate",
  Upstream: "Upstream",
  Service: "Service of sluice.dev",
  Route: "Route",
  Consumer: "Consumer",
  Plugin: "Plugin",
  Secret: "Secret",
  CoreService: "core Service",
};

/**
 * The violation of a cross-namespace reference that is not allowed. The message is the same whether or not the resource
 * exists, because only readers of that namespace may know.
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
