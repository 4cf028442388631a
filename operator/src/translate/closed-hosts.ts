/**
 * Hosts whose requests are refused: an Upstream has the name and is not served. Without this, requests of its Services
 * would go to the host that the name resolves to in DNS, bypassing targets, health checks and client certificate.
 */
import type { Problem } from "../status/conditions.ts";
import type { EntityTranslation } from "./translate-resource.ts";
import type { Owner } from "./translation.ts";

export interface ClosedHosts {
  /** Called for every Upstream that is served. */
  open(piece: EntityTranslation): void;
  /** Called for every Upstream that is not served, with the reason. */
  close(owner: Owner, piece: EntityTranslation, why: string | undefined): void;
  /** Whether an Upstream with this name is not served. */
  has(host: unknown): boolean;
  /** Why a Service of this namespace must not be served; null: it may be. */
  problemOf(owner: Owner, piece: EntityTranslation): Problem | null;
}

interface Closed {
  readonly owner: Owner;
  readonly why: string | undefined;
  /** It may not have this name, so that the Services of other namespaces do not mean it. */
  readonly isForeign: boolean;
}

export function createClosedHosts(): ClosedHosts {
  const opened = new Set<string>();
  const closed = new Map<string, Closed[]>();
  return {
    open({ item }) {
      opened.add(`${item.name}`.toLowerCase());
    },
    close(owner, { item, violations }, why) {
      if (typeof item.name !== "string") return;
      const name = item.name.toLowerCase();
      const isForeign = violations.some(({ reason }) => reason === "NotAllowed");
      closed.set(name, [...(closed.get(name) ?? []), { owner, why, isForeign }]);
    },
    has: (host) => closed.has(`${host}`.toLowerCase()),
    problemOf({ namespace }, { validItem, backend }) {
      if (closed.size === 0 || !validItem || backend) return null;
      const host = `${validItem.entity.host}`.toLowerCase();
      if (opened.has(host)) return null;
      const found = closed.get(host)?.find(({ owner, isForeign }) => !isForeign || owner.namespace === namespace);
      if (!found) return null;
      const { owner, why } = found;
      const isOwn = owner.namespace === namespace;
      // What is wrong in another namespace is for those to read who may read there.
      const message = `the Upstream ${isOwn ? "" : `${owner.namespace}/`}${owner.name}, which has the name ${host}, is not served`;
      return {
        condition: "ResolvedRefs",
        reason: "UpstreamNotServed",
        message: isOwn && why ? `${message}: ${why}` : message,
      };
    },
  };
}
