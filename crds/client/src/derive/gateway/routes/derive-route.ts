/** Derives Sluice resources from a route, and the result for each of its parents. Pure. */
import { namespacedName } from "../../../keys.ts";
import type { Resource } from "../../../resource.ts";
import { derivedResource } from "../../derived-resource.ts";
import { mirrorOf } from "../filters/mirror.ts";
import {
  type ConditionFinding,
  falseFinding,
  type ListenerOwnerKind,
  type ParentReference,
  type RouteKind,
  type RouteRule,
  routeSpecOf,
  trueFinding,
} from "../gateway-api.ts";
import {
  type AttachedListener,
  type Attachment,
  attachToParent,
  type ListenerOwner,
  ownerKindOf,
} from "./attachment.ts";
import { deriveRule, type RuleLookups } from "./derive-rule.ts";
import { deriveTlsRule } from "./derive-tls-rule.ts";
import { sizeFault } from "./route-places.ts";

/** Facts about other resources. */
export interface DeriveRouteOptions extends RuleLookups {
  /** A Gateway of this installation, or a ListenerSet of one, by `namespace/name`. */
  readonly ownerOf: (kind: ListenerOwnerKind, key: string) => ListenerOwner | undefined;
  /** Why a listener does not accept the route because of another route; undefined: it accepts it. */
  readonly conflictOf: (listener: string) => string | undefined;
  /** Undefined: the namespace is unknown, for example because the operator may not read Namespaces. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined;
}

/** The result for a parent that is a Gateway of this installation, or a ListenerSet of one. */
export interface RouteParent {
  readonly ref: ParentReference;
  /** The Gateway, by `namespace/name`. */
  readonly gateway: string;
  readonly accepted: ConditionFinding;
  readonly resolvedRefs: ConditionFinding;
  /** The names in the document of the listeners to which the route has attached. */
  readonly listeners: readonly string[];
}

export interface DerivedRoute {
  readonly route: Resource;
  readonly resources: readonly Resource[];
  readonly parents: readonly RouteParent[];
  /** The core Services to which the rules refer, by `namespace/name`, whether or not they exist. */
  readonly services: ReadonlySet<string>;
  /** The listeners to which the route attaches if no other route excludes it; empty: the route itself is refused. */
  readonly attaching: readonly AttachedListener[];
}

export function deriveRoute(route: Resource, options: DeriveRouteOptions): DerivedRoute {
  const { namespace } = route.metadata;
  const kind = route.kind as RouteKind;
  const { parentRefs = [], hostnames = [], rules = [] } = routeSpecOf(route);
  const namespaceLabels = () => options.namespaceLabels(namespace);
  const attaching = { kind, namespace, hostnames, namespaceLabels };
  const attachments = parentRefs.flatMap((ref) => {
    const key = namespacedName(ref.namespace ?? namespace, ref.name);
    const ownerKind = ownerKindOf(ref);
    const owner = ownerKind && options.ownerOf(ownerKind, key);
    return owner ? [{ ref, gateway: owner.gateway, ...attachToParent(attaching, ref, owner) }] : [];
  });
  if (attachments.length === 0) return { route, resources: [], parents: [], services: new Set(), attaching: [] };
  const accepting = attachments.map((attachment) => withoutConflicts(attachment, options.conflictOf));
  const attached = accepting.flatMap(({ listeners }) => listeners);
  const refused = sizeFault(
    rules,
    attachments.flatMap(({ listeners }) => listeners),
  );
  const derive = kind === "TLSRoute" ? deriveTlsRule : deriveRule;
  const derived = rules.map((rule, index) => derive(route, { rule, index, attached, refused }, options));
  const [unsupported] = derived.flatMap((one) => one.unsupported);
  const [unresolved = trueFinding("ResolvedRefs")] = derived.flatMap((one) => one.unresolved);
  return {
    route,
    resources: derived.flatMap(({ contents }) => contents).map((content) => derivedResource(route, content)),
    attaching: unsupported ? [] : attachments.flatMap(({ listeners }) => listeners),
    parents: accepting.map(({ ref, gateway, accepted, listeners }) => ({
      ref,
      gateway,
      accepted: accepted.status === "True" ? (unsupported ?? accepted) : accepted,
      resolvedRefs: unresolved,
      // Only accepted routes count.
      listeners: unsupported ? [] : listeners.map(({ id }) => id),
    })),
    services: new Set(rules.flatMap((rule) => servicesOf(rule, namespace))),
  };
}

function servicesOf({ backendRefs = [], filters = [] }: RouteRule, own: string): readonly string[] {
  const mirrors = [...filters, ...backendRefs.flatMap((ref) => ref.filters ?? [])].flatMap(({ type, requestMirror }) =>
    type === "RequestMirror" ? (mirrorOf(requestMirror, "").ref ?? []) : [],
  );
  return [...backendRefs, ...mirrors].map(({ namespace = own, name }) => namespacedName(namespace, name));
}

/** The attachment without the listeners that do not accept the route because of another route. */
function withoutConflicts<Attached extends Attachment>(
  attachment: Attached,
  conflictOf: DeriveRouteOptions["conflictOf"],
): Attached {
  const conflicts = attachment.listeners.flatMap(({ id }) => {
    const reason = conflictOf(id);
    return reason === undefined
      ? []
      : [{ id, message: `not on the listener ${id.slice(id.lastIndexOf("/") + 1)}: ${reason}` }];
  });
  if (conflicts.length === 0) return attachment;
  const refusing = new Set(conflicts.map(({ id }) => id));
  const listeners = attachment.listeners.filter(({ id }) => !refusing.has(id));
  const message = conflicts.map((one) => one.message).join("; ");
  const accepted = listeners.length > 0 ? trueFinding("Accepted", message) : falseFinding("HostnameConflict", message);
  return { ...attachment, listeners, accepted };
}
