/** The Gateways and ListenerSets to which routes attach. */
import {
  type DerivedGateway,
  type DerivedListenerSet,
  type ListenerOwner,
  type ListenerOwnerKind,
  parentOfListenerSet,
} from "@sluice/crds";

export interface DerivedOwners {
  readonly gateways: ReadonlyMap<string, DerivedGateway>;
  readonly listenerSets: ReadonlyMap<string, DerivedListenerSet>;
}

/** @param key `namespace/name` */
export const listenerOwnerOf = (
  owners: DerivedOwners,
  kind: ListenerOwnerKind,
  key: string,
): ListenerOwner | undefined => (kind === "Gateway" ? gatewayOwner(owners, key) : setOwner(owners, key));

function gatewayOwner({ gateways }: DerivedOwners, key: string): ListenerOwner | undefined {
  const derived = gateways.get(key);
  if (!derived) return undefined;
  const { gateway: owner, listeners, backendCertificate } = derived;
  return { owner, gateway: key, listeners, certificate: backendCertificate?.name };
}

function setOwner({ gateways, listenerSets }: DerivedOwners, key: string): ListenerOwner | undefined {
  const derived = listenerSets.get(key);
  if (!derived) return undefined;
  const { listenerSet: owner, listeners, isAttached, accepted } = derived;
  const gateway = parentOfListenerSet(owner) ?? "";
  const certificate = gateways.get(gateway)?.backendCertificate?.name;
  return { owner, gateway, listeners, certificate, refused: isAttached ? undefined : accepted };
}
