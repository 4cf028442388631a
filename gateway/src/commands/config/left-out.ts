/** The resources of a folder that do not become entities of the admin API, and why. Pure. */
import { foreignTargetOf, type Kind, kindOf, type Resource } from "@sluice/crds";

/** A resource that `fromResources` does not translate. */
export interface LeftOutResource {
  readonly resource: Resource;
  readonly why: keyof typeof reasons;
}

const reasons = {
  derived: "only the operator of a cluster translates these kinds; use kubectl to apply them",
  attached: "a target is of a kind that only the operator of a cluster translates; use kubectl to apply them",
  class: "the class (spec.class) is not the value of SLUICE_CLASS",
} as const;

/** From these, and from the objects that they refer to, the operator derives resources. */
const derivedFrom: ReadonlySet<Kind> = new Set<Kind>([
  "IngressClass",
  "Ingress",
  "GatewayClass",
  "GatewayParameters",
  "Gateway",
  "ListenerSet",
  "HTTPRoute",
  "GRPCRoute",
  "TLSRoute",
  "BackendTLSPolicy",
]);

/** Whether the operator derives other resources from this one. */
export function isDerivedFrom({ apiVersion, kind }: Resource): boolean {
  const known = kindOf(apiVersion, kind);
  return known !== undefined && derivedFrom.has(known);
}

/** Whether it is a Plugin attached to an object from which the operator derives routes, such as an HTTPRoute. */
export function isAttachedToDerived({ kind, spec }: Resource): boolean {
  const targets: unknown = spec?.targetRefs;
  return kind === "Plugin" && Array.isArray(targets) && targets.some((target) => foreignTargetOf(target));
}

/** Maximum number of resources that a sentence names. */
const MAX_NAMED = 20;

/**
 * A sentence for each reason.
 *
 * @param placeOf Where a resource is written: `folder/route.yaml:1:1`.
 */
export function leftOutSentences(
  leftOut: readonly LeftOutResource[],
  placeOf: (resource: Resource) => string,
): readonly string[] {
  return Object.entries(Object.groupBy(leftOut, ({ why }) => why)).map(([why, group]) => {
    const named = group.slice(0, MAX_NAMED).map(({ resource }) => {
      const { namespace, name } = resource.metadata;
      return `${resource.kind} ${namespace}/${name} (${placeOf(resource)})`;
    });
    const more = group.length > MAX_NAMED ? ` and ${group.length - MAX_NAMED} more` : "";
    return `left out: ${named.join(", ")}${more}: ${reasons[why as keyof typeof reasons]}`;
  });
}
