/** Explains a lookup of the router: which routes were candidates for a request, and why the others do not match. */
import { listFirstNames, type SnapshotRoute, suggestionFor } from "@sluice/model/serving";
import type { ExplainedRoute, ExplainedRoutes, RoutableRequest, RouteAttribute } from "../runtime.ts";
import { conditionHolds, type ValueCondition } from "./conditions.ts";
import { visitHostKeys } from "./host-pattern.ts";
import { compareEntries, precedenceReason } from "./precedence.ts";
import { acceptsHeader, acceptsServerName, type HeaderRule, type RouteEntry } from "./route-entry.ts";

export interface ExplainEntriesOptions {
  /** Maximum number of entries in the result. */
  readonly size: number;
  /** The name or id of the route's service if it is disabled; null: it is enabled, or the route has no service. */
  readonly disabledService: (route: SnapshotRoute) => string | null;
}

/**
 * The entries that match, in order of precedence, and then the other entries, the nearest to a match first, each with
 * the reason why it is not chosen. Yields after each entry, so that the caller can let other requests run in between:
 * there may be many thousands of entries.
 *
 * @param entries The entries of each route
 */
export function* explainEntries(
  entries: Iterable<readonly RouteEntry[]>,
  request: RoutableRequest,
  { size, disabledService }: ExplainEntriesOptions,
): Generator<undefined, ExplainedRoutes> {
  const lookup: Lookup = { request, hosts: hostKeysOf(request), disabledService };
  const nearest: RankedEntry[] = [];
  let count = 0;
  for (const ofRoute of entries) {
    for (const entry of ofRoute) {
      count++;
      insertRanked(nearest, rankedEntry(entry, lookup), { size, compare: compareRanked });
      yield;
    }
  }
  const [first] = nearest;
  const chosen = first?.attribute === null ? first.entry : null;
  return {
    nearest: nearest.map((ranked) => described(ranked, { ...lookup, chosen })),
    others: count - nearest.length,
  };
}

interface RankedEntry {
  readonly entry: RouteEntry;
  /** The first attribute that does not match; null: all match. */
  readonly attribute: RouteAttribute | null;
  /** Of two entries, the one with the higher number is nearer to a match. */
  readonly nearness: number;
}

/** The later the mismatching attribute is in this list, the nearer the entry is to a match. */
const ranks: readonly (RouteAttribute | null)[] = [
  ...(["host", "path", "method", "header", "query", "share", "sni", "service"] as const),
  null,
];

function rankedEntry(entry: RouteEntry, lookup: Lookup): RankedEntry {
  const other = mismatchBesidesHost(entry, lookup);
  if (hasHost(entry, lookup)) return { entry, attribute: other, nearness: ranks.indexOf(other) };
  // With many hosts, nearly all entries differ in the host. These are ranked by their other attributes, below the
  // entries that match the host. An entry whose host is probably misspelt ranks above the entries of other paths, which
  // may be many.
  const isMisspelt = other === null && suggestionFor(lookup.request.host, entry.hosts) !== "";
  const nearness = isMisspelt ? ranks.indexOf("path") + 0.5 : ranks.indexOf(other) / ranks.length;
  return { entry, attribute: "host", nearness };
}

const compareRanked = (one: RankedEntry, other: RankedEntry): number =>
  other.nearness - one.nearness || compareEntries(one.entry, other.entry);

interface Ranking<Ranked> {
  readonly size: number;
  /** Negative: the first one precedes the other one. */
  readonly compare: (one: Ranked, other: Ranked) => number;
}

/** Inserts the entry in the sorted list, which keeps the first `size` entries. */
export function insertRanked<Ranked>(sorted: Ranked[], ranked: Ranked, { size, compare }: Ranking<Ranked>): void {
  const last = sorted[size - 1];
  if (last !== undefined && compare(ranked, last) > 0) return;
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(ranked, sorted[middle] as Ranked) < 0) high = middle;
    else low = middle + 1;
  }
  sorted.splice(low, 0, ranked);
  if (sorted.length > size) sorted.pop();
}

/** The host patterns that match the host of the request. */
function hostKeysOf(request: RoutableRequest): ReadonlySet<string> {
  const keys = new Set<string>();
  visitHostKeys(request, { ports: true, wildcards: true }, { visitKey: (key) => void keys.add(key) });
  return keys;
}

interface Lookup extends Pick<ExplainEntriesOptions, "disabledService"> {
  readonly request: RoutableRequest;
  readonly hosts: ReadonlySet<string>;
}

const hasHost = (entry: RouteEntry, { hosts }: Lookup): boolean =>
  entry.hosts.length === 0 || entry.hosts.some((host) => hosts.has(host));

/** The first attribute after the host by which the entry does not match; null: all of them match. */
function mismatchBesidesHost(entry: RouteEntry, { request, disabledService }: Lookup): RouteAttribute | null {
  const { route, methods, headers, conditions, prefix, isExact, pattern } = entry;
  if (prefix !== null && !(isExact ? request.path === prefix : request.path.startsWith(prefix))) return "path";
  if (pattern !== null && pattern.matchPrefix(request.path) === undefined) return "path";
  if (methods !== null && !methods.has(request.method)) return "method";
  if (headers !== null && !headers.every((rule) => acceptsHeader(rule, request))) return "header";
  for (const on of ["header", "query", "share"] as const)
    if (conditions?.some((condition) => condition.on === on && !conditionHolds(condition, request))) return on;
  if (!acceptsServerName(entry, request)) return "sni";
  return disabledService(route) === null ? null : "service";
}

interface DescribeOptions extends Lookup {
  /** The entry that matches first; null: none matches. */
  readonly chosen: RouteEntry | null;
}

function described({ entry, attribute }: RankedEntry, { chosen, ...lookup }: DescribeOptions): ExplainedRoute {
  const mismatch = attribute && { attribute, reason: reasonOf(entry, attribute, lookup) };
  const lostBecause = mismatch || !chosen || chosen === entry ? null : precedenceReason(chosen, entry);
  return { route: entry.route, path: entry.path, mismatch, lostBecause };
}

function reasonOf(
  entry: RouteEntry,
  attribute: RouteAttribute,
  { request, disabledService }: Pick<Lookup, "request" | "disabledService">,
): string {
  const { route, hosts, path, methods, headers, conditions, serverNames } = entry;
  switch (attribute) {
    case "host":
      return `${namedValue("request's host", request.host)} is not ${hosts.length === 1 ? "the route's host" : "one of the route's hosts"} ${shownList(hosts)}`;
    case "path":
      return `${namedValue("path", request.path)} does not ${path?.startsWith("~") ? "match" : "begin with"} ${short(path ?? "")}`;
    case "method":
      return `${namedValue("method", request.method)} is not ${oneOfValues(methods ?? [])}`;
    case "header": {
      const missing = headers?.find((rule) => !acceptsHeader(rule, request));
      return missing === undefined ? conditionReason(conditions, attribute, request) : headerReason(missing, request);
    }
    case "query":
      return conditionReason(conditions, attribute, request);
    case "share":
      return "the request is in the share of another route; requests are divided at random";
    case "sni":
      return `${namedValue("TLS server name", request.serverName)} is not ${oneOfValues(serverNames ?? [])}`;
    case "service":
      return `the service ${disabledService(route)} is disabled`;
  }
}

function headerReason({ name, values, pattern }: HeaderRule, request: RoutableRequest): string {
  if (request.headerValues(name).length === 0) return `the header ${name} is missing`;
  const wanted = pattern ? `matches ${short(`~*${pattern.source}`)}` : `is ${oneOfValues(values ?? [])}`;
  return `no value of the header ${name} ${wanted}`;
}

/** Why the first condition on headers, or on query parameters, does not hold. */
function conditionReason(
  conditions: RouteEntry["conditions"],
  on: "header" | "query",
  request: RoutableRequest,
): string {
  const failed = conditions?.find(
    (condition): condition is ValueCondition => condition.on === on && !conditionHolds(condition, request),
  );
  const what = on === "header" ? "header" : "query parameter";
  if (failed === undefined) return `a ${what} does not match`;
  const { name, value } = failed;
  return `the ${what} ${name} ${typeof value === "string" ? `is not ${short(value)}` : `does not match ${short(value.source)}`}`;
}

/** Maximum characters of a value in a reason. */
const MAX_LENGTH = 200;
/** Maximum number of values in a reason. */
const MAX_VALUES = 10;

const short = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);

export const namedValue = (what: string, value: string | null): string => `the ${what} ${short(value || "(none)")}`;

const shownList = (values: readonly string[]): string => listFirstNames(values.map(short), MAX_VALUES);

export const oneOfValues = (values: Iterable<string>): string => {
  const all = [...values];
  return all.length === 1 ? shownList(all) : `one of ${shownList(all)}`;
};
