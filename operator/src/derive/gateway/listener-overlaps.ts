/** Listeners of different Gateways that exclude each other, because they share a port of the nodes. */
import { isDeepStrictEqual } from "node:util";
import {
  byAge,
  type DerivedGateway,
  type Finding,
  type GatewayListener,
  ownersOfListener,
  type Resource,
  succeeds,
} from "@sluice/crds";
import type { DocumentListener } from "@sluice/model";

interface Claim {
  /** The Gateway or the ListenerSet that has the listener. */
  readonly owner: Resource;
  readonly listener: DocumentListener;
}

type Overlaps = ReadonlyMap<string, Finding>;

export function createListenerOverlaps() {
  /** By the port of the nodes, and by the name in the document. */
  const claims = new Map<number, Map<string, Claim>>();
  const findings = new Map<number, Overlaps>();
  const wantedBy = new Map<string, readonly DocumentListener[]>();
  let changedPorts = new Set<number>();

  return {
    /** The condition Conflicted of a listener that has to give way; undefined: it has not. */
    overlapOf: ({ port, name }: DocumentListener): Finding | undefined => findings.get(port)?.get(name),

    /** Replaces the listeners that a Gateway (`namespace/name`) and its ListenerSets want to have served. */
    set(key: string, derived: DerivedGateway | undefined): void {
      for (const { port, name } of wantedBy.get(key) ?? []) {
        claims.get(port)?.delete(name);
        changedPorts.add(port);
      }
      wantedBy.delete(key);
      if (!derived) return;
      const wanted: DocumentListener[] = [];
      claim(derived.gateway, derived.listeners);
      for (const { listenerSet, listeners } of derived.listenerSets) claim(listenerSet, listeners);
      wantedBy.set(key, wanted);

      function claim(owner: Resource, listeners: readonly GatewayListener[]): void {
        for (const { wanted: listener } of listeners) {
          if (!listener) continue;
          const { port, name } = listener;
          claims.set(port, (claims.get(port) ?? new Map()).set(name, { owner, listener }));
          changedPorts.add(port);
          wanted.push(listener);
        }
      }
    },

    /** Decides about the changed listeners. Returns the Gateways that have other conflicts than before. */
    resolve(): ReadonlySet<string> {
      const changed = new Set<string>();
      for (const port of changedPorts) {
        const ofPort = [...(claims.get(port)?.values() ?? [])];
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
 * Of the listeners of one port that exclude each other, the one of the oldest Gateway or ListenerSet is served: one that
 * is added never takes the requests of another. A listener that is not served excludes no others.
 *
 * @returns the conflicts, by the name in the document.
 */
function overlapsOf(claims: readonly Claim[]): Overlaps {
  const overlaps = new Map<string, Finding>();
  const served = new Map<string, DocumentListener>();
  const [oldest, ...others] = claims.toSorted((one, other) => byAge(one.owner, other.owner));
  if (!oldest) return overlaps;
  const { protocol, public_port: port } = oldest.listener;
  const first = describe(oldest.listener);
  served.set(oldest.listener.hostname ?? "", oldest.listener);
  for (const { listener } of others) {
    const { name, hostname = "" } = listener;
    const same = served.get(hostname);
    if ((listener.protocol === "http") !== (protocol === "http")) {
      const message = `${first} uses port ${port} ${protocol === "http" ? "with the protocol HTTP" : "with TLS"}`;
      overlaps.set(name, succeeds("ProtocolConflict", `${message}: use the same protocol, or another port`));
    } else if (same) {
      const message = `${describe(same)} has the same port and hostname`;
      overlaps.set(name, succeeds("HostnameConflict", `${message}: use another port or hostname`));
    } else served.set(hostname, listener);
  }
  return overlaps;
}

/** A ListenerSet is not named, because it may be one of another team. */
function describe({ name }: DocumentListener): string {
  const { gateway, listenerSet } = ownersOfListener(name);
  return listenerSet === undefined
    ? `the listener ${name} of an older Gateway`
    : `a listener of an older ListenerSet of the Gateway ${gateway}`;
}
