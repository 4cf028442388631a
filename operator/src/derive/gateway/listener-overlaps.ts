/** Listeners of different Gateways that exclude each other, because they share a port of the nodes. */
import { isDeepStrictEqual } from "node:util";
import {
  type AgedObject,
  type ConditionFinding,
  compareByAge,
  type DerivedGateway,
  type GatewayListener,
  ownersOfListener,
  type Resource,
  trueFinding,
} from "@sluice/crds";
import type { DocumentListener } from "@sluice/model";

/** The Gateway or the ListenerSet that has a listener. */
type ClaimOwner = AgedObject & Pick<Resource, "kind">;

interface Claim {
  readonly owner: ClaimOwner;
  readonly listener: DocumentListener;
}

type Overlaps = ReadonlyMap<string, ConditionFinding>;

export function createListenerOverlaps() {
  /** By the port of the nodes; the claims of the oldest owner first. */
  const claims = new Map<number, Claim[]>();
  const findings = new Map<number, Overlaps>();
  const claimsBy = new Map<string, readonly Claim[]>();
  let changedPorts = new Set<number>();

  function remove(claim: Claim): void {
    const { port } = claim.listener;
    const ofPort = claims.get(port) ?? [];
    const at = ofPort.indexOf(claim);
    if (at >= 0) ofPort.splice(at, 1);
    changedPorts.add(port);
  }

  function add(claim: Claim): void {
    const { port } = claim.listener;
    const ofPort = claims.getOrInsertComputed(port, () => []);
    const at = ofPort.findLastIndex(({ owner }) => byPrecedence(owner, claim.owner) <= 0);
    ofPort.splice(at + 1, 0, claim);
    changedPorts.add(port);
  }

  return {
    /** The condition Conflicted of a listener that has to give way; undefined: it has not. */
    overlapOf: ({ port, name }: DocumentListener): ConditionFinding | undefined => findings.get(port)?.get(name),

    /** Replaces the listeners that a Gateway (`namespace/name`) and its ListenerSets want to have served. */
    set(key: string, derived: DerivedGateway | undefined): void {
      const before = claimsBy.get(key) ?? [];
      const after = derived ? claimsOf(derived) : [];
      if (isDeepStrictEqual(before, after)) return;
      for (const claim of before) remove(claim);
      for (const claim of after) add(claim);
      if (after.length > 0) claimsBy.set(key, after);
      else claimsBy.delete(key);
    },

    /** Decides about the changed listeners. Returns the Gateways that have other conflicts than before. */
    resolve(): ReadonlySet<string> {
      const changed = new Set<string>();
      for (const port of changedPorts) {
        const ofPort = claims.get(port) ?? [];
        const before: Overlaps = findings.get(port) ?? new Map();
        const after = overlapsOf(ofPort);
        if (ofPort.length === 0) claims.delete(port);
        if (after.size > 0) findings.set(port, after);
        else findings.delete(port);
        for (const name of [...before.keys(), ...after.keys()])
          if (!isDeepStrictEqual(before.get(name), after.get(name))) changed.add(ownersOfListener(name).gateway);
      }
      changedPorts = new Set();
      return changed;
    },
  };
}

/**
 * Of the listeners of one port that exclude each other, the one of the oldest Gateway or ListenerSet is served: one
 * that is added never takes the requests of another. A listener that is not served excludes no others.
 *
 * @param claims Those of the oldest owner first.
 * @returns the conflicts, by the name in the document.
 */
function overlapsOf(claims: readonly Claim[]): Overlaps {
  const overlaps = new Map<string, ConditionFinding>();
  const served = new Map<string, DocumentListener>();
  const [oldest, ...others] = claims;
  if (!oldest) return overlaps;
  const { protocol, public_port: port } = oldest.listener;
  const first = describe(oldest.listener);
  served.set(oldest.listener.hostname ?? "", oldest.listener);
  for (const { listener } of others) {
    const { name, hostname = "" } = listener;
    const same = served.get(hostname);
    if ((listener.protocol === "http") !== (protocol === "http")) {
      const message = `${first} uses port ${port} ${protocol === "http" ? "with the protocol HTTP" : "with TLS"}`;
      overlaps.set(name, trueFinding("ProtocolConflict", `${message}: use the same protocol, or another port`));
    } else if (same) {
      const message = `${describe(same)} has the same port and hostname`;
      overlaps.set(name, trueFinding("HostnameConflict", `${message}: use another port or hostname`));
    } else served.set(hostname, listener);
  }
  return overlaps;
}

function claimsOf({ gateway, listeners, listenerSets }: DerivedGateway): readonly Claim[] {
  const claimed = (owner: Resource, wanted: readonly GatewayListener[]): readonly Claim[] =>
    wanted.flatMap(({ wanted: listener }) => (listener ? [{ owner: claimOwner(owner), listener }] : []));
  return [
    ...claimed(gateway, listeners),
    ...listenerSets.flatMap(({ listenerSet, listeners: ofSet }) => claimed(listenerSet, ofSet)),
  ];
}

/** The owner without the members that do not affect the order. */
function claimOwner({ kind, metadata: { name, namespace, creationTimestamp } }: Resource): ClaimOwner {
  return { kind, metadata: { name, namespace, ...(creationTimestamp !== undefined && { creationTimestamp }) } };
}

/** A Gateway and a ListenerSet may have the same age and name. */
const byPrecedence = (one: ClaimOwner, other: ClaimOwner): number =>
  compareByAge(one, other) || one.kind.localeCompare(other.kind);

/** A ListenerSet is not named, because it may be one of another team. */
function describe({ name }: DocumentListener): string {
  const { gateway, listenerSet } = ownersOfListener(name);
  return listenerSet === undefined
    ? `the listener ${name} of an older Gateway`
    : `a listener of an older ListenerSet of the Gateway ${gateway}`;
}
