/** What a route matches, as texts that are equal when the matches are. */
import type { Route } from "@sluice/model";

/** Remembered for the entity, which is frozen or never changed: it is asked for with every change of anything. */
const known = new WeakMap<object, readonly string[]>();

/** One for each way in which the route matches: a route with several paths is as many routes (kong-contract 2.1). */
export function matchesOf(route: Route): readonly string[] {
  const before = known.get(route);
  if (before) return before;
  const matches = spell(route);
  known.set(route, matches);
  return matches;
}

const sorted = (list: readonly string[] | null): readonly string[] | null => (list ? [...list].sort() : null);
const lower = (list: readonly string[] | null) => (list ? list.map((text) => text.toLowerCase()) : null);

/** The case of hosts and of header names does not matter to requests. */
function spell({ paths, hosts, methods, headers, snis, protocols }: Route): readonly string[] {
  const named = Object.entries(headers ?? {})
    .map(([name, values]) => [name.toLowerCase(), sorted(values)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const rest = [sorted(lower(hosts)), sorted(methods), named, sorted(lower(snis)), sorted(protocols)];
  return (paths ?? [null]).map((path) => JSON.stringify([path, ...rest]));
}
