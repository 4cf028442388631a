/**
 * Derives the listeners of the document and their certificates from a Gateway and its ListenerSets, and finds out which
 * of the listeners can be served. Pure.
 */
import { namespacedName } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import type { TranslateOptions } from "../../translate/translation.ts";
import { type DerivedResource, derivedName, derivedResource } from "../derived-resource.ts";
import { type BackendCertificate, backendCertificateOf } from "./backend-certificate.ts";
import {
  type DerivedListenerSet,
  type DeriveListenerSetOptions,
  deriveListenerSet,
} from "./listeners/derive-listener-set.ts";
import { deriveListeners, type GatewayListener } from "./listeners/derive-listeners.ts";
import { conflictOf, isConflict, precedenceConflicts } from "./listeners/listener-conflicts.ts";

/** Facts about other resources. */
export interface DeriveGatewayOptions extends DeriveListenerSetOptions {
  /** The ListenerSets whose parent is the Gateway, in any order. */
  readonly listenerSets: readonly Resource[];
}

export interface DerivedGateway {
  readonly gateway: Resource;
  readonly accepted: Finding;
  readonly listeners: readonly GatewayListener[];
  /** Undefined: the nodes have no client certificate for its backends. */
  readonly backendCertificate: BackendCertificate | undefined;
  /** The Certificates of the listeners, and the one for the backends. */
  readonly resources: readonly Resource[];
}

export function deriveGateway(gateway: Resource, options: DeriveGatewayOptions): DerivedGateway {
  const { listeners: given } = gatewaySpecOf(gateway);
  const fault = gatewayFault(gateway);
  const users = new Map<string, SecretName & { readonly listeners: string[] }>();
  const derived = listeners.map((listener): GatewayListener => {
    const id = `${resourceKey(gateway)}/${listener.name}`;
    const protocol = protocolOf(listener);
    const conflict = conflictOf(listener, listeners);
    const { kinds, resolved } = allowedKinds(listener);
    const accepted = fault ?? listenerFault(gateway, listener) ?? succeeds("Accepted");
    const certificates = needsCertificate(protocol) ? certificatesOf(gateway, listener, options) : undefined;
    const resolvedRefs = certificates?.resolved.status === "False" ? certificates.resolved : resolved;
    const port = options.nodePortOf(listener.port);
    const isUsable =
      accepted.status === "True" && !isConflict(conflict) && certificates?.secrets.length !== 0 && kinds.length > 0;
    const hostname = listener.hostname?.toLowerCase();
    const wanted =
      isUsable && protocol !== undefined && port !== undefined
        ? { name: id, port, public_port: listener.port, protocol, ...(hostname && { hostname }) }
        : undefined;
    const conflicted = (wanted && options.overlapOf(wanted)) ?? conflict;
    const served = isConflict(conflicted) ? undefined : wanted;
    if (served) for (const secret of certificates?.secrets ?? []) addUser(secret, id);
    return { listener, id, kinds, accepted, conflicted, resolvedRefs, wanted, served };
  });
  const backendCertificate = backendCertificateOf(gateway, options);
  return {
    gateway,
    accepted: fault ?? gatewayFinding(derived),
    listeners: derived,
    backendCertificate,
    resources: [...certificates(), ...(backendCertificate?.certificate ? [backendCertificate.certificate] : [])],
  };

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

/** Why the whole Gateway is refused. */
function gatewayFault(gateway: Resource): Finding | undefined {
  const { addresses = [], infrastructure } = gatewaySpecOf(gateway);
  if (addresses.some(({ value = "" }) => value !== ""))
    return fails(
      "UnsupportedAddress",
      "spec.addresses is not supported: the Gateway gets the addresses of its Service",
    );
  if (infrastructure?.parametersRef)
    return fails("InvalidParameters", "spec.infrastructure.parametersRef is not supported: remove it");
  return undefined;
}

/** The condition Accepted of a Gateway that is not refused as a whole. */
function gatewayFinding(listeners: readonly GatewayListener[]): Finding {
  const faulty = listeners.filter(({ accepted, conflicted }) => accepted.status === "False" || isConflict(conflicted));
  if (faulty.length === 0) return succeeds("Accepted");
  const message = `refused: ${faulty.map(({ listener }) => listener.name).join(", ")}; see the status of the listeners`;
  return { status: faulty.length < listeners.length ? "True" : "False", reason: "ListenersNotValid", message };
}
