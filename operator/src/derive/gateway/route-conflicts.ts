/**
 * HTTPRoutes and GRPCRoutes with a common hostname on a listener exclude each other: the older route is accepted there
 * (Gateway API, GRPCRoute `spec.hostnames`).
 */
import { isDeepStrictEqual } from "node:util";
import {
  type AttachedListener,
  compareByAge,
  type DerivedRoute,
  MultiMap,
  Relation,
  type Resource,
} from "@sluice/crds";

/** A route that attaches to a listener. */
interface RouteClaim extends Pick<AttachedListener, "hosts"> {
  readonly route: Resource;
}

export function createRouteConflicts() {
  /** By the listener's name in the document. */
  const listeners = new Map<string, ListenerRoutes>();
  /** Routes (`refKey`), and the listeners to which they attach. */
  const attached = new Relation<string, string>();
  const changedListeners = new Set<string>();

  return {
    /** Why the listener does not accept the route; undefined: no other route excludes it. */
    conflictOf: (listener: string, route: string): string | undefined => listeners.get(listener)?.refused.get(route),

    /** Replaces the listeners to which a route (`refKey`) attaches; undefined: it is gone. */
    set(key: string, derived: Pick<DerivedRoute, "route" | "attaching"> | undefined): void {
      const attaching = derived?.attaching ?? [];
      const after = new Set(attaching.map(({ id }) => id));
      for (const id of attached.set(key, after).difference(after)) {
        listeners.get(id)?.remove(key);
        changedListeners.add(id);
      }
      if (!derived) return;
      for (const { id, hosts } of attaching) {
        const ofListener = listeners.getOrInsertComputed(id, () => new ListenerRoutes());
        if (ofListener.put(key, { route: derived.route, hosts })) changedListeners.add(id);
      }
    },

    /** Decides about the changed listeners. Returns the routes that have other conflicts than before. */
    resolve(): ReadonlySet<string> {
      const changed = new Set<string>();
      for (const id of changedListeners) {
        for (const key of listeners.get(id)?.resolve() ?? []) changed.add(key);
        if (listeners.get(id)?.isEmpty) listeners.delete(id);
      }
      changedListeners.clear();
      return changed;
    },
  };
}

/** The routes that attach to one listener. Only those that are connected by common hosts are decided again. */
class ListenerRoutes {
  /** The refused routes (`refKey`), each with the reason. */
  readonly refused = new Map<string, string>();
  readonly #claims = new Map<string, RouteClaim>();
  readonly #byKind = new MultiMap<string, string>();
  /** By kind and host. */
  readonly #byHost = new MultiMap<string, string>();
  /** By kind and the domains above the hosts. */
  readonly #byDomain = new MultiMap<string, string>();
  #undecided = new Set<string>();
  /** The removed claims whose rivals have to be decided again. */
  #removed: RouteClaim[] = [];

  get isEmpty(): boolean {
    return this.#claims.size === 0;
  }

  /** Returns false if nothing has changed on which a decision depends. */
  put(key: string, claim: RouteClaim): boolean {
    const known = this.#claims.get(key);
    const isSame = known && compareByAge(known.route, claim.route) === 0 && isDeepStrictEqual(known.hosts, claim.hosts);
    if (known && !isSame) this.remove(key);
    this.#claims.set(key, claim);
    if (isSame) return false;
    this.#index(key, claim, "add");
    this.#undecided.add(key);
    return true;
  }

  remove(key: string): void {
    const claim = this.#claims.get(key);
    if (!claim) return;
    this.#claims.delete(key);
    this.#index(key, claim, "delete");
    this.#undecided.add(key);
    this.#removed.push(claim);
  }

  /** Returns the routes that have other conflicts than before. */
  resolve(): readonly string[] {
    const [connected, removed] = [this.#undecided, this.#removed];
    [this.#undecided, this.#removed] = [new Set(), []];
    // Thousands of routes may have the same rivals: each set of them is added once.
    const added = new Set<ReadonlySet<string>>();
    const addRivalsOf = (claim: RouteClaim) => {
      for (const rivals of this.#rivalsOf(claim)) {
        if (added.has(rivals)) continue;
        added.add(rivals);
        for (const rival of rivals) connected.add(rival);
      }
    };
    for (const claim of removed) addRivalsOf(claim);
    // The set grows during the iteration.
    for (const key of connected) {
      const claim = this.#claims.get(key);
      if (claim) addRivalsOf(claim);
    }
    const after = refusedOf(
      [...connected].flatMap((key) => {
        const claim = this.#claims.get(key);
        return claim ? [[key, claim] as const] : [];
      }),
    );
    return [...connected].filter((key) => {
      const [before, reason] = [this.refused.get(key), after.get(key)];
      if (reason === undefined) this.refused.delete(key);
      else this.refused.set(key, reason);
      return before !== reason;
    });
  }

  #index(key: string, { route: { kind }, hosts }: RouteClaim, change: "add" | "delete"): void {
    this.#byKind[change](kind, key);
    for (const host of hosts) {
      this.#byHost[change](`${kind} ${host ?? ""}`, key);
      for (const domain of host === undefined ? [] : domainsAbove(host))
        this.#byDomain[change](`${kind} ${domain}`, key);
    }
  }

  /** The routes of other kinds with a common host, in several sets. */
  *#rivalsOf({ route, hosts }: RouteClaim): Generator<ReadonlySet<string>> {
    for (const kind of this.#byKind.keys()) {
      if (kind === route.kind) continue;
      for (const host of hosts) {
        if (host === undefined) yield this.#byKind.get(kind);
        else {
          for (const other of ["", host, ...domainsAbove(host).map((domain) => `*.${domain}`)])
            yield this.#byHost.get(`${kind} ${other}`);
          if (host.startsWith("*.")) yield this.#byDomain.get(`${kind} ${host.slice(2)}`);
        }
      }
    }
  }
}

/** The refused routes among routes of a listener, each with the reason. A refused route excludes no others. */
function refusedOf(claims: readonly (readonly [string, RouteClaim])[]): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  const accepted = new Map<string, HostSet>();
  for (const [key, { route, hosts }] of claims.toSorted(([, one], [, other]) => compareByAge(one.route, other.route))) {
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
