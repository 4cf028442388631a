/** References to other resources, by name; out of their namespace only where a ReferenceGrant lets them. */
import type { NameRef, ResourceKind } from "@sluice/model";
import type {
  CrossNamespaceReference,
  Path,
  ResourceReference,
  ResourceViolation,
  TranslateOptions,
} from "../translation.ts";

/** Whose reference it is, and where it stands: `["spec", "serviceRef"]`. */
export interface ReferenceOrigin {
  readonly from: CrossNamespaceReference["from"];
  readonly path: Path;
}

export interface ResolvedReference {
  /** `{}` when nothing was found: no check lets it through, so that a lost target never widens what an entity is for. */
  readonly reference: { readonly id?: string };
  readonly violations: readonly ResourceViolation[];
  /** The resource that is meant, there or not; null: it is nobody's business whether it is there. */
  readonly refersTo: ResourceReference | null;
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
 * What is wrong with a reference that leaves its namespace and is not allowed to. The same words whether there is
 * something of that name or not: that is for those to know who may read there.
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
      `the namespace ${to.namespace} lets no ${from.kind} of the namespace ${from.namespace} refer to its ` +
      `${words[to.kind]} ${to.name}: that takes a ReferenceGrant there (gateway.networking.k8s.io/v1beta1, whose CRD ` +
      "has to be installed)",
    condition: "ResolvedRefs",
    reason: "RefNotPermitted",
  };
}
