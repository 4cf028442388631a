/** Listeners of different Gateways that exclude each other, because they share a port of the nodes. */
import { isDeepStrictEqual } from "node:util";
import { byAge, type DerivedGateway, type Finding, type Resource, succeeds } from "@sluice/crds";
import type { DocumentListener } from "@sluice/model";

interface Claim {
  readonly gateway: Resource;
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

    /** Replaces the listeners that a Gateway (`namespace/name`) wants to have served. */
    set(key: string, derived: DerivedGateway | undefined): void {
      for (const { port, name } of wantedBy.get(key) ?? []) {
        claims.get(port)?.delete(name);
        changedPorts.add(port);
      }
      wantedBy.delete(key);
      if (!derived) return;
      const { gateway } = derived;
      const wanted = derived.listeners.flatMap((one) => one.wanted ?? []);
      for (const listener of wanted) {
        const { port, name } = listener;
        claims.set(port, (claims.get(port) ?? new Map()).set(name, { gateway, listener }));
        changedPorts.add(port);
      }
      wantedBy.set(key, wanted);
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
          if (!isDeepStrictEqual(before.get(name), after.get(name))) changed.add(name.slice(0, name.lastIndexOf("/")));
      }
      changedPorts = new Set();
      return changed;
    },
  };
}

/**
 * Of the listeners of one port that exclude each other, the one of the oldest Gateway is served: a Gateway that is added
 * never takes the requests of another. A listener that is not served excludes no others.
 *
 * @returns the conflicts, by the name in the document.
 */
function overlapsOf(claims: readonly Claim[]): Overlaps {
  const overlaps = new Map<string, Finding>();
  const served = new Map<string, DocumentListener>();
  const [oldest, ...others] = claims.toSorted((one, other) => byAge(one.gateway, other.gateway));
  if (!oldest) return overlaps;
  const { protocol, name: first, public_port: port } = oldest.listener;
  served.set(oldest.listener.hostname ?? "", oldest.listener);
  for (const { listener } of others) {
    const { name, hostname = "" } = listener;
    const same = served.get(hostname);
    if ((listener.protocol === "http") !== (protocol === "http")) {
      const use = protocol === "http" ? "with the protocol HTTP" : "with TLS";
      const message = `the listener ${first} of an older Gateway uses port ${port} ${use}`;
      overlaps.set(name, succeeds("ProtocolConflict", `${message}: use the same protocol, or another port`));
    } else if (same) {
      const message = `the listener ${same.name} of an older Gateway has the same port and hostname`;
      overlaps.set(name, succeeds("HostnameConflict", `${message}: use another port or hostname`));
    } else served.set(hostname, listener);
  }
  return overlaps;
}
