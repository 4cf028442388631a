/**
 * The matches of a route, as strings. Two routes with an equal match compete for the same requests, and the older route
 * gets them.
 */
import type { SnapshotRoute } from "@sluice/model";

/** An entity never changes, so its matches are cached: every full translation needs them. */
const known = new WeakMap<object, readonly string[]>();

/**
 * One string per combination of path, host and method: Kong treats a route with several of them as several routes.
 * Protocols do not count: they are checked after the route has been chosen. Routes of the Gateway API have no matches,
 * because it allows equal ones: the router uses the first.
 */
export function routeMatchesOf(route: SnapshotRoute): readonly string[] {
  const before = known.get(route);
  if (before) return before;
  const matches = spell(route);
  known.set(route, matches);
  return matches;
}

/** Above this number of combinations there is one string per path, with all hosts and methods together. */
const MOST = 256;

type Words = readonly (string | null)[];

const distinct = (list: readonly string[] | null): readonly string[] => [...new Set(list ?? [])].sort();
const lower = (list: readonly string[] | null): readonly string[] =>
  distinct((list ?? []).map((text) => text.toLowerCase()));
/** An empty list matches everything. */
const orAny = (words: readonly string[]): Words => (words.length > 0 ? words : [null]);
const together = (words: readonly string[]): Words => (words.length > 0 ? [JSON.stringify(words)] : [null]);

/** Hosts, header names and header values are case-insensitive; patterns for header values are not. */
function spell({ paths, hosts, methods, headers, snis, _sluice }: SnapshotRoute): readonly string[] {
  if (_sluice?.listeners) return [];
  const named = Object.entries(headers ?? {})
    .map(([name, values]) => [name.toLowerCase(), isPattern(values) ? values : lower(values)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const [ownHosts, ownMethods, ownPaths] = [lower(hosts), distinct(methods), orAny(distinct(paths))];
  // Of two routes with different priorities, the router prefers one, whatever their age.
  const rest = [rankOf(ownHosts), named, lower(snis), _sluice?.priority];
  const ways = Math.max(1, ownHosts.length) * Math.max(1, ownMethods.length) * ownPaths.length;
  const words = ways > MOST ? together : orAny;
  return ownPaths.flatMap((path) =>
    words(ownHosts).flatMap((host) => words(ownMethods).map((method) => JSON.stringify([path, host, method, ...rest]))),
  );
}

const isPattern = ([first, ...others]: readonly string[]): boolean =>
  others.length === 0 && first !== undefined && first.startsWith("~*");

/**
 * The rank of a route by its hosts, which is part of its matches: if only one of two routes with a common host has
 * wildcards, the router prefers one of them, whatever their age.
 */
function rankOf(hosts: readonly string[]): string {
  const wildcards = hosts.filter((host) => host.includes("*"));
  if (wildcards.length === 0) return "plain";
  return wildcards.some((host) => host.includes(":")) ? "wildcard with port" : "wildcard";
}
