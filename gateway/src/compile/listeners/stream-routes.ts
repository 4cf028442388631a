/** The routes of the document's listeners for connections that are not HTTP: by listener, protocol and server name. */
import type { DocumentListener } from "@sluice/model";
import { BucketMap, type Difference, hashOfText, type SnapshotRoute } from "@sluice/model/serving";

/** The key of routes without hosts. */
const ANY = "*";

export class StreamRoutes {
  /** By protocol, the name of a listener, and a host; the route that takes precedence comes first. */
  readonly #routes: BucketMap<readonly SnapshotRoute[]>;

  private constructor(routes: BucketMap<readonly SnapshotRoute[]>) {
    this.#routes = routes;
  }

  static readonly empty = new StreamRoutes(new BucketMap(hashOfText));

  /** Returns the same object if no such route changes. */
  with(routes: readonly Difference<SnapshotRoute>[]): StreamRoutes {
    const changed = new Map<string, readonly SnapshotRoute[]>();
    const changedAt = (key: string) => changed.get(key) ?? this.#routes.get(key) ?? [];
    for (const { before } of routes)
      if (before)
        for (const key of keysOf(before))
          changed.set(
            key,
            changedAt(key).filter(({ id }) => id !== before.id),
          );
    for (const { after } of routes)
      if (after) for (const key of keysOf(after)) changed.set(key, [...changedAt(key), after].sort(olderFirst));
    if (changed.size === 0) return this;
    const entries = Array.from(changed, ([key, all]) => [key, all.length === 0 ? undefined : all] as const);
    return new StreamRoutes(this.#routes.with(entries));
  }

  /**
   * The route for a server name in lower case: by its exact host, by the longest wildcard, or without hosts. A route
   * with another protocol than the listener does not match.
   */
  find(listener: Pick<DocumentListener, "name" | "protocol">, serverName: string): SnapshotRoute | null {
    const exact = this.#first(listener, serverName);
    if (exact !== null) return exact;
    for (let dot = serverName.indexOf(".", 1); dot > 0; dot = serverName.indexOf(".", dot + 1)) {
      const wildcard = this.#first(listener, `*${serverName.slice(dot)}`);
      if (wildcard !== null) return wildcard;
    }
    return this.#first(listener, ANY);
  }

  #first({ protocol, name }: Pick<DocumentListener, "name" | "protocol">, host: string): SnapshotRoute | null {
    return this.#routes.get(keyOf(protocol, name, host))?.[0] ?? null;
  }
}

/** Whether the route is for connections that are not HTTP. */
export const isStreamRoute = ({ protocols: [protocol] }: Pick<SnapshotRoute, "protocols">): boolean =>
  protocol === "tcp" || protocol === "tls" || protocol === "tls_passthrough";

/** No part contains a space. */
const keyOf = (protocol: string, listener: string, host: string): string => `${protocol} ${listener} ${host}`;

function keysOf(route: SnapshotRoute): readonly string[] {
  if (!isStreamRoute(route)) return [];
  const [protocol = ""] = route.protocols;
  const listeners = new Set(route._sluice?.listeners);
  const hosts = new Set(route.hosts ?? [ANY]);
  return [...listeners].flatMap((listener) => [...hosts].map((host) => keyOf(protocol, listener, host.toLowerCase())));
}

/** The older route comes first, then the one whose name sorts first (Gateway API, "conflict resolution"). */
export function olderFirst(one: SnapshotRoute, other: SnapshotRoute): number {
  if (one.created_at !== other.created_at) return one.created_at - other.created_at;
  const [first, second] = [one, other].map(({ name, id }) => name ?? id) as [string, string];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Why the first route takes precedence by `olderFirst`. */
export const agePrecedence = (one: SnapshotRoute, other: SnapshotRoute): string =>
  one.created_at === other.created_at ? "both are equally old, and its name sorts first" : "it is older";

/**
 * How specific the route's host for a server name in lower case is: the length of the host that matches best, infinite
 * for the name itself, 0 without hosts. Null: no host matches.
 */
export function hostMatchOf({ hosts }: Pick<SnapshotRoute, "hosts">, serverName: string): number | null {
  if (hosts === null) return 0;
  const matching = hosts.flatMap((host) => {
    const lower = host.toLowerCase();
    if (lower === serverName) return [Number.POSITIVE_INFINITY];
    return lower.startsWith("*.") && serverName.endsWith(lower.slice(1)) && serverName.length >= lower.length
      ? [lower.length]
      : [];
  });
  return matching.length === 0 ? null : Math.max(...matching);
}
