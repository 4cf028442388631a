/**
 * Upstreams that are not served. A Service whose host is the name of such an Upstream is refused. Otherwise requests of
 * the Service would go to the host that the name resolves to in DNS, bypassing the Upstream's targets, health checks
 * and client certificate.
 */
import type { Problem } from "../../status/conditions.ts";
import type { EntityTranslation } from "../translate-resource.ts";
import type { Owner } from "../translation.ts";

interface UnservedUpstream {
  readonly owner: Owner;
  readonly why: string | undefined;
  /**
   * Whether the Upstream is not allowed to have this name. If so, Services of other namespaces that use the name do not
   * refer to it.
   */
  readonly isForeign: boolean;
}

export function createUnservedUpstreams() {
  const served = new Set<string>();
  const unserved = new Map<string, UnservedUpstream[]>();
  return {
    addServed({ item }: EntityTranslation) {
      served.add(`${item.name}`.toLowerCase());
    },
    /** Called for every Upstream that is not served, with the reason. */
    addUnserved(owner: Owner, { item, violations }: EntityTranslation, why: string | undefined) {
      if (typeof item.name !== "string") return;
      const name = item.name.toLowerCase();
      const isForeign = violations.some(({ reason }) => reason === "NotAllowed");
      unserved.set(name, [...(unserved.get(name) ?? []), { owner, why, isForeign }]);
    },
    /** Whether an Upstream with this name is not served. */
    has: (host: unknown) => unserved.has(`${host}`.toLowerCase()),
    /** Why a Service of this namespace must not be served; null: it may be. */
    problemOf({ namespace }: Owner, { validItem, backends }: EntityTranslation): Problem | null {
      if (unserved.size === 0 || !validItem || backends) return null;
      const host = `${validItem.entity.host}`.toLowerCase();
      if (served.has(host)) return null;
      const found = unserved.get(host)?.find(({ owner, isForeign }) => !isForeign || owner.namespace === namespace);
      if (!found) return null;
      const { owner, why } = found;
      const isOwn = owner.namespace === namespace;
      // Problems in another namespace are visible only to users who may read there.
      const message = `the Upstream ${isOwn ? "" : `${owner.namespace}/`}${owner.name}, which has the name ${host}, is not served`;
      return {
        condition: "ResolvedRefs",
        reason: "UpstreamNotServed",
        message: isOwn && why ? `${message}: ${why}` : message,
      };
    },
  };
}

export type UnservedUpstreams = ReturnType<typeof createUnservedUpstreams>;
