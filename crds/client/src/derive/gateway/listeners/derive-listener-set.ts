/** Decides whether a ListenerSet is attached to its Gateway, and derives its listeners (GEP-1713). Pure. */
import type { Resource } from "../../../resource.ts";
import {
  type ConditionFinding,
  falseFinding,
  gatewaySpecOf,
  type Listener,
  listenerSetSpecOf,
  trueFinding,
} from "../gateway-api.ts";
import { allowsNamespace, UNKNOWN_LABELS } from "./allowed-namespaces.ts";
import { type DerivedListeners, type DeriveListenersOptions, deriveListeners } from "./derive-listeners.ts";
import { isConflict } from "./listener-conflicts.ts";

export interface DerivedListenerSet extends DerivedListeners {
  readonly listenerSet: Resource;
  readonly accepted: ConditionFinding;
  /** Whether the Gateway allows the ListenerSet, and is accepted. Otherwise, no listeners are derived. */
  readonly isAttached: boolean;
}

export interface DeriveListenerSetOptions extends DeriveListenersOptions {
  /** Undefined: the namespace is unknown, for example because the operator may not read Namespaces. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined;
}

export interface ListenerSetRequest {
  readonly gateway: Resource;
  readonly listenerSet: Resource;
  /** Whether the Gateway is accepted, apart from conflicts with other Gateways. */
  readonly isGatewayAccepted: boolean;
  /** The condition Conflicted of the next listener. */
  readonly conflictOf: (listener: Listener) => ConditionFinding;
}

export function deriveListenerSet(
  { gateway, listenerSet, isGatewayAccepted, conflictOf }: ListenerSetRequest,
  options: DeriveListenerSetOptions,
): DerivedListenerSet {
  const refused = isGatewayAccepted
    ? namespaceFault(gateway, listenerSet, options)
    : falseFinding("ParentNotAccepted", "the Gateway is not accepted; see its status");
  if (refused) return unattached(listenerSet, refused);
  const { listeners: given } = listenerSetSpecOf(listenerSet);
  let derived: DerivedListeners;
  try {
    derived = deriveListeners({ gateway, owner: listenerSet, listeners: given, fault: undefined, conflictOf }, options);
  } catch (error) {
    // No API server validates the resources of a directory: the Gateway and its other ListenerSets are served.
    return unattached(listenerSet, falseFinding("Invalid", `cannot read spec.listeners: ${(error as Error).message}`));
  }
  // Unlike in a Gateway, a listener in conflict is not accepted (GEP-1713, "Listener and ListenerSet Conflicts").
  const listeners = derived.listeners.map((one) =>
    isConflict(one.conflicted)
      ? { ...one, accepted: falseFinding(one.conflicted.reason, one.conflicted.message) }
      : one,
  );
  return { ...derived, listeners, listenerSet, accepted: acceptedOf(listeners), isAttached: true };
}

/** A ListenerSet whose Gateway does not exist. */
export const orphanedListenerSet = (listenerSet: Resource): DerivedListenerSet =>
  unattached(listenerSet, falseFinding("ParentNotAccepted", "the Gateway of spec.parentRef does not exist"));

const unattached = (listenerSet: Resource, accepted: ConditionFinding): DerivedListenerSet => ({
  listenerSet,
  accepted,
  isAttached: false,
  listeners: [],
  resources: [],
});

function namespaceFault(
  gateway: Resource,
  listenerSet: Resource,
  options: Pick<DeriveListenerSetOptions, "namespaceLabels">,
): ConditionFinding | undefined {
  const { from = "None", selector } = gatewaySpecOf(gateway).allowedListeners?.namespaces ?? {};
  const { namespace } = listenerSet.metadata;
  const namespaceLabels = () => options.namespaceLabels(namespace);
  const rule = { from, ...(selector && { selector }) };
  if (allowsNamespace(rule, gateway.metadata.namespace, { namespace, namespaceLabels })) return undefined;
  const hint = from === "Selector" && !namespaceLabels() ? UNKNOWN_LABELS : "";
  return falseFinding(
    "NotAllowed",
    `spec.allowedListeners of the Gateway allows no ListenerSet of the namespace ${namespace}${hint}`,
  );
}

function acceptedOf(listeners: DerivedListeners["listeners"]): ConditionFinding {
  const faulty = listeners.filter(({ isUsable }) => !isUsable);
  if (faulty.length === 0) return trueFinding("Accepted");
  const message = `refused: ${faulty.map(({ listener }) => listener.name).join(", ")}; see the status of the listeners`;
  return { status: faulty.length < listeners.length ? "True" : "False", reason: "ListenersNotValid", message };
}
