/**
 * HTTPRoutes and GRPCRoutes with a common hostname on a listener exclude each other: the older route is accepted there
 * (Gateway API, GRPCRoute `spec.hostnames`).
 */
import { type AttachedListener, byAge, type DerivedRoute, type Resource } from "@sluice/crds";

/** A route that attaches to a listener. */
interface RouteClaim extends Pick<AttachedListener, "hosts"> {
  readonly route: Resource;
}

export function createRouteConflicts() {
  /** By the listener's name in the document, and by the `refKey` of the route. */
  const claims = new Map<string, Map<string, RouteClaim>>();
  /** The refused routes by listener, each with the reason. */
  const refused = new Map<string, ReadonlyMap<string, string>>();
  const listenersOf = new Map<string, readonly string[]>();
  let changedListeners = new Set<string>();

  return {
    /** Why the listener does not accept the route; undefined: no other route excludes it. */
    conflictOf: (listener: string, route: string): string | undefined => refused.get(listener)?.get(route),

    /** Replaces the listeners to which a route (`refKey`) attaches; undefined: it is gone. */
    set(key: string, derived: Pick<DerivedRoute, "route" | "attaching"> | undefined): void {
      for (const id of listenersOf.get(key) ?? []) {
        claims.get(id)?.delete(key);
        if (claims.get(id)?.size === 0) claims.delete(id);
        changedListeners.add(id);
      }
      listenersOf.delete(key);
      if (!derived || derived.attaching.length === 0) return;
      const { route, attaching } = derived;
      listenersOf.set(
        key,
        attaching.map(({ id }) => id),
      );
      for (const { id, hosts } of attaching) {
        claims.getOrInsertComputed(id, () => new Map()).set(key, { route, hosts });
        changedListeners.add(id);
      }
    },

    /** Decides about the changed listeners. Returns the routes that have other conflicts than before. */
    resolve(): ReadonlySet<string> {
      const changed = new Set<string>();
      for (const id of changedListeners) {
        const before = refused.get(id) ?? new Map<string, string>();
        const after = refusedOf(claims.get(id) ?? new Map());
        if (after.size > 0) refused.set(id, after);
        else refused.delete(id);
        for (const key of new Set([...before.keys(), ...after.keys()]))
          if (before.get(key) !== after.get(key)) changed.add(key);
      }
      changedListeners = new Set();
      return changed;
    },
  };
}

/** The refused routes of a listener. A refused route excludes no others. */
function refusedOf(claims: ReadonlyMap<string, RouteClaim>): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  if (new Set(claims.values().map(({ route }) => route.kind)).size < 2) return refused;
  const accepted = new Map<string, HostSet>();
  for (const [key, { route, hosts }] of [...claims].sort(([, one], [, other]) => byAge(one.route, other.route))) {
    const [other] = accepted
      .entries()
      .filter(([kind, of]) => kind !== route.kind && hosts.some((host) => of.overlaps(host)));
    if (other) {
      refused.set(
        key,
        `an older ${other[0]} has a host of this ${route.kind}: use other hostnames, or another listener`,
      );
      continue;
    }
    const own = accepted.getOrInsertComputed(route.kind, () => new HostSet());
    for (const host of hosts) own.add(host);
  }
  return refused;
}

/** Host names and wildcards. */
class HostSet {
  #hasAny = false;
  readonly #hosts = new Set<string>();
  /** The domains below which there is a host: `b.c` for `a.b.c` and for `*.b.c`. */
  readonly #domains = new Set<string>();

  add(host: string | undefined): void {
    if (host === undefined) this.#hasAny = true;
    else {
      this.#hosts.add(host);
      for (const domain of domainsAbove(host)) this.#domains.add(domain);
    }
  }

  /** Whether a request's host can belong to both the host, which may be a wildcard, and one of the set. */
  overlaps(host: string | undefined): boolean {
    if (this.#hasAny) return true;
    if (host === undefined) return this.#hosts.size > 0;
    if (this.#hosts.has(host) || domainsAbove(host).some((domain) => this.#hosts.has(`*.${domain}`))) return true;
    return host.startsWith("*.") && this.#domains.has(host.slice(2));
  }
}

/** `b.c` and `c` for `a.b.c`. */
function domainsAbove(host: string): readonly string[] {
  const labels = host.split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
}
