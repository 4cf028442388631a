/** Derives Sluice resources from a route, and the result for each of its parents. Pure. */
import { namespacedName } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import { derivedResource } from "../derived-resource.ts";
import { attach, isGatewayRef } from "./attachment.ts";
import type { DerivedGateway } from "./derive-gateway.ts";
import { deriveRule, type RuleLookups } from "./derive-rule.ts";
import { deriveTlsRule } from "./derive-tls-rule.ts";
import { type Finding, type ParentReference, type RouteKind, routeSpecOf, succeeds } from "./gateway-api.ts";
import { sizeFault } from "./route-places.ts";

/** Facts about other resources. */
export interface DeriveRouteOptions extends RuleLookups {
  /** A Gateway of this installation by `namespace/name`. */
  readonly gatewayOf: (key: string) => DerivedGateway | undefined;
  /** Undefined: the namespace is unknown, for example because the operator may not read Namespaces. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined;
}

/** The result for a parent that is a Gateway of this installation. */
export interface RouteParent {
  readonly ref: ParentReference;
  readonly accepted: Finding;
  readonly resolvedRefs: Finding;
  /** The names in the document of the listeners to which the route has attached. */
  readonly listeners: readonly string[];
}

export interface DerivedRoute {
  readonly route: Resource;
  readonly resources: readonly Resource[];
  readonly parents: readonly RouteParent[];
}

export function deriveRoute(route: Resource, options: DeriveRouteOptions): DerivedRoute {
  const { namespace } = route.metadata;
  const kind = route.kind as RouteKind;
  const { parentRefs = [], hostnames = [], rules = [] } = routeSpecOf(route);
  const namespaceLabels = () => options.namespaceLabels(namespace);
  const attaching = { kind, namespace, hostnames, namespaceLabels };
  const attachments = parentRefs.flatMap((ref) => {
    const key = namespacedName(ref.namespace ?? namespace, ref.name);
    const gateway = isGatewayRef(ref) ? options.gatewayOf(key) : undefined;
    return gateway ? [{ ref, ...attach(attaching, ref, gateway) }] : [];
  });
  if (attachments.length === 0) return { route, resources: [], parents: [] };
  const attached = attachments.flatMap(({ listeners }) => listeners);
  const refused = sizeFault(rules, attached);
  const derive = kind === "TLSRoute" ? deriveTlsRule : deriveRule;
  const derived = rules.map((rule, index) => derive(route, { rule, index, attached, refused }, options));
  const [unsupported] = derived.flatMap((one) => one.unsupported);
  const [unresolved = succeeds("ResolvedRefs")] = derived.flatMap((one) => one.unresolved);
  return {
    route,
    resources: derived.flatMap(({ contents }) => contents).map((content) => derivedResource(route, content)),
    parents: attachments.map(({ ref, accepted, listeners }) => ({
      ref,
      accepted: accepted.status === "True" ? (unsupported ?? accepted) : accepted,
      resolvedRefs: unresolved,
      // Only accepted routes count.
      listeners: unsupported ? [] : listeners.map(({ id }) => id),
    })),
  };
}
