/**
 * Derives the listeners of the document and their certificates from a Gateway and its ListenerSets, and finds out which
 * of the listeners can be served. Pure.
 */
import { namespacedName } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import { compareByAge } from "../../translate/incremental/age-order.ts";
import { type BackendCertificate, backendCertificateOf } from "./backends/backend-certificate.ts";
import { type ConditionFinding, falseFinding, gatewaySpecOf, listenerSetSpecOf, trueFinding } from "./gateway-api.ts";
import {
  type ClientValidationLookups,
  clientValidationOf,
  type DerivedClientValidation,
} from "./listeners/client-validation.ts";
import {
  type DerivedListenerSet,
  type DeriveListenerSetOptions,
  deriveListenerSet,
} from "./listeners/derive-listener-set.ts";
import { deriveListeners, type GatewayListener } from "./listeners/derive-listeners.ts";
import { conflictOf, isConflict, precedenceConflicts } from "./listeners/listener-conflicts.ts";
import type { GatewayParameters } from "./parameters/merge-parameters.ts";
import { type ParametersLookups, resolveParameters } from "./parameters/resolve-parameters.ts";
import { ownerKindOf } from "./routes/attachment.ts";

/** Facts about other resources. */
export interface DeriveGatewayOptions
  extends Omit<DeriveListenerSetOptions, "validationAt" | "fleets">,
    ClientValidationLookups,
    ParametersLookups {
  /** The ListenerSets whose parent is the Gateway, in any order. */
  readonly listenerSets: readonly Resource[];
  /** The last valid parameters of the Gateway, which apply while the present ones are invalid. */
  readonly lastParameters: GatewayParameters | undefined;
  /**
   * The fleets whose nodes open the ports of the Gateway. Undefined parameters: they are invalid, and no valid ones are
   * known; then, the fleets that serve the Gateway already, if there are any.
   */
  readonly fleetsOf: (parameters: GatewayParameters | undefined) => readonly string[];
}

export interface DerivedGateway {
  readonly gateway: Resource;
  readonly accepted: ConditionFinding;
  /**
   * The parameters that apply: while those of the Gateway or of its class are invalid, the last valid ones. Undefined:
   * they are invalid, and no valid ones are known since the start of the operator.
   */
  readonly parameters: GatewayParameters | undefined;
  readonly listeners: readonly GatewayListener[];
  /** The ListenerSets whose parent is the Gateway, also those that it does not allow, in the order of precedence. */
  readonly listenerSets: readonly DerivedListenerSet[];
  /** Undefined: the nodes have no client certificate for its backends. */
  readonly backendCertificate: BackendCertificate | undefined;
  /** The Certificates of the listeners, without those of ListenerSets, and the one for the backends. */
  readonly resources: readonly Resource[];
}

export function deriveGateway(gateway: Resource, lookups: DeriveGatewayOptions): DerivedGateway {
  const validations = new Map<number, DerivedClientValidation | undefined>();
  const validationAt = (port: number) =>
    validations.getOrInsertComputed(port, () => clientValidationOf(gateway, port, lookups));
  const { fault: refusal, parameters, fleets } = placementOf(gateway, lookups);
  const options = { ...lookups, validationAt, ...(fleets && { fleets }) };
  const { listeners: given } = gatewaySpecOf(gateway);
  const fault = addressFault(gateway) ?? (fleets ? undefined : refusal);
  const { listeners, resources } = deriveListeners(
    { gateway, owner: gateway, listeners: given, fault, conflictOf: (listener) => conflictOf(listener, given) },
    options,
  );
  // Conflicts with other Gateways do not count: what a Gateway wants to have served does not depend on the others.
  const isGatewayAccepted =
    !fault &&
    listeners.some(({ listener, accepted }) => accepted.status === "True" && !isConflict(conflictOf(listener, given)));
  const nextConflict = precedenceConflicts(given);
  const backendCertificate = backendCertificateOf(gateway, options);
  return {
    gateway,
    accepted: fault ?? refusal ?? gatewayFinding(listeners),
    parameters,
    listeners,
    listenerSets: options.listenerSets
      .toSorted(compareByAge)
      .map((listenerSet) =>
        deriveListenerSet({ gateway, listenerSet, isGatewayAccepted, conflictOf: nextConflict }, options),
      ),
    backendCertificate,
    resources: [...resources, ...(backendCertificate?.certificate ? [backendCertificate.certificate] : [])],
  };
}

/** The listeners of a Gateway and of its ListenerSets. */
export const allListeners = ({ listeners, listenerSets }: DerivedGateway): readonly GatewayListener[] => [
  ...listeners,
  ...listenerSets.flatMap((set) => set.listeners),
];

/** The Gateway (`namespace/name`) that a ListenerSet names as its parent; undefined: the parent is of another kind. */
export function parentOfListenerSet(listenerSet: Resource): string | undefined {
  const { parentRef } = listenerSetSpecOf(listenerSet);
  if (!parentRef || ownerKindOf(parentRef) !== "Gateway") return undefined;
  return namespacedName(parentRef.namespace ?? listenerSet.metadata.namespace, parentRef.name);
}

/** Where a Gateway is served. */
interface Placement extends Pick<DerivedGateway, "parameters"> {
  /** Why the parameters are refused; undefined: they are valid. */
  readonly fault: ConditionFinding | undefined;
  /** Undefined: the Gateway is not served. */
  readonly fleets: readonly string[] | undefined;
}

/**
 * A Gateway that is served stays as it is when its parameters become invalid, so that a wrong edit does not interrupt
 * its clients.
 */
function placementOf(gateway: Resource, lookups: DeriveGatewayOptions): Placement {
  const resolved = resolveParameters(gateway, lookups);
  if ("value" in resolved)
    return { parameters: resolved.value, fleets: lookups.fleetsOf(resolved.value), fault: undefined };
  const { lastParameters: parameters } = lookups;
  const fleets = lookups.fleetsOf(parameters);
  if (fleets.length === 0) return { parameters, fleets: undefined, fault: falseFinding(INVALID, resolved.fault) };
  return {
    parameters,
    fleets,
    fault: falseFinding(INVALID, `${resolved.fault}. The Gateway is still served as before`),
  };
}

const INVALID = "InvalidParameters";

function addressFault(gateway: Resource): ConditionFinding | undefined {
  const { addresses = [] } = gatewaySpecOf(gateway);
  const unknown = addresses.find(({ type = "IPAddress" }) => type !== "IPAddress" && type !== "Hostname");
  if (unknown)
    return falseFinding(
      "UnsupportedAddress",
      `spec.addresses: the type ${unknown.type} is not supported: use IPAddress or Hostname`,
    );
  return undefined;
}

/** The condition Accepted of a Gateway that is not refused as a whole. */
function gatewayFinding(listeners: readonly GatewayListener[]): ConditionFinding {
  const faulty = listeners.filter(({ accepted, conflicted }) => accepted.status === "False" || isConflict(conflicted));
  if (faulty.length === 0) return trueFinding("Accepted");
  const message = `refused: ${faulty.map(({ listener }) => listener.name).join(", ")}; see the status of the listeners`;
  return { status: faulty.length < listeners.length ? "True" : "False", reason: "ListenersNotValid", message };
}
