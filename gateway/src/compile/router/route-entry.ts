/**
 * Entries: the units that the router sorts and tries. A route has one entry for each of its paths, so that each path
 * has its own place in the order of precedence.
 */
import { compileRegex, type Regex, type SnapshotRoute } from "@sluice/model/serving";
import { lowerCase } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../runtime.ts";
import { parseHostPattern } from "./host-pattern.ts";

export interface HeaderRule {
  readonly name: Lowercase<string>;
  /** Lower case; null for a pattern. */
  readonly values: ReadonlySet<string> | null;
  readonly pattern: Regex | null;
}

export interface RouteEntry {
  readonly route: SnapshotRoute;
  /** Lower-case host patterns; empty: any host. */
  readonly hosts: readonly string[];
  readonly prefix: string | null;
  readonly pattern: Regex | null;
  readonly methods: ReadonlySet<string> | null;
  readonly headers: readonly HeaderRule[] | null;
  readonly serverNames: ReadonlySet<string> | null;
  /** The part of Kong's route priority that fits in one number; the higher wins. */
  readonly weight: number;
}

// Kinds of attributes by their place in the order host > header > path > method > sni.
const HOST = 16;
const HEADER = 8;
const PATH = 4;
const METHOD = 2;
const SNI = 1;

const WILDCARD_WITH_PORT = 4;
const PLAIN_HOSTS = 2;
const REGEX_PATH = 1;

/** The model allows 16 header names; the weight has room for more, so that an overflow cannot change the order. */
const HEADER_COUNTS = 1024;

/** The entries of a route; empty if no protocol of the route is HTTP or gRPC, or if it has no attribute to match by. */
export function routeEntriesOf(route: SnapshotRoute): readonly RouteEntry[] {
  if (!route.protocols.some((protocol) => HTTP_PROTOCOLS.has(protocol))) return [];
  const hosts = (route.hosts ?? []).map((host) => host.toLowerCase());
  const headers = headerRules(route.headers);
  const methods = filled(route.methods);
  const serverNames = filled(route.snis);
  const kinds =
    (hosts.length > 0 ? HOST : 0) | (headers ? HEADER : 0) | (methods ? METHOD : 0) | (serverNames ? SNI : 0);
  const hostBits = hostKind(hosts);
  const entry = (path: string | null): RouteEntry => {
    const pattern = path?.startsWith("~") ? regex(path.slice(1)) : null;
    const all = path === null ? kinds : kinds | PATH;
    return {
      route,
      hosts,
      prefix: pattern ? null : path,
      pattern,
      methods,
      headers,
      serverNames,
      weight:
        ((count(all) * 32 + all) * 8 + hostBits + (pattern ? REGEX_PATH : 0)) * HEADER_COUNTS +
        Math.min(headers?.length ?? 0, HEADER_COUNTS - 1),
    };
  };
  const paths = route.paths ?? [];
  if (paths.length > 0) return paths.map(entry);
  return kinds === 0 ? [] : [entry(null)];
}

const HTTP_PROTOCOLS: ReadonlySet<string> = new Set(["http", "https", "grpc", "grpcs"]);

/** Negative when `a` wins: Kong's route priority (traditional_compatible router). */
export function compareEntries(a: RouteEntry, b: RouteEntry): number {
  if (a.weight !== b.weight) return b.weight - a.weight;
  if (a.pattern && a.route.regex_priority !== b.route.regex_priority) {
    return b.route.regex_priority - a.route.regex_priority;
  }
  const longer = (b.prefix?.length ?? 0) - (a.prefix?.length ?? 0);
  if (longer !== 0) return longer;
  if (a.route.created_at !== b.route.created_at) return a.route.created_at - b.route.created_at;
  return a.route.id < b.route.id ? -1 : a.route.id > b.route.id ? 1 : 0;
}

/** The first rule of `compareEntries` by which `winner` takes precedence over `loser`. */
export function precedenceReason(winner: RouteEntry, loser: RouteEntry): string {
  const [more, fewer] = [attributesOf(winner), attributesOf(loser)];
  if (more.length !== fewer.length)
    return `it has ${more.length} kinds of attributes (${more.join(", ")}), this one ${fewer.length} (${fewer.join(", ")})`;
  const kind = more.find((name) => !fewer.includes(name));
  if (kind !== undefined) return `${kind} rank before ${fewer.find((name) => !more.includes(name))}`;
  const own = hostKind(winner.hosts);
  if (own !== hostKind(loser.hosts))
    return own === PLAIN_HOSTS ? "hosts rank before wildcards" : "wildcards with a port rank before other hosts";
  if ((winner.pattern === null) !== (loser.pattern === null)) return "regular expressions rank before prefixes";
  const [headers, fewerHeaders] = [winner.headers?.length ?? 0, loser.headers?.length ?? 0];
  if (headers !== fewerHeaders) return `${headers} headers are more than ${fewerHeaders}`;
  const [priority, lower] = [winner.route.regex_priority, loser.route.regex_priority];
  if (winner.pattern && priority !== lower) return `regex_priority ${priority} is more than ${lower}`;
  if (winner.prefix?.length !== loser.prefix?.length) return `the path ${winner.prefix} is longer`;
  if (winner.route === loser.route) return "it has another path that matches";
  return winner.route.created_at === loser.route.created_at ? "its id sorts first" : "it was created earlier";
}

const attributesOf = ({ hosts, headers, prefix, pattern, methods, serverNames }: RouteEntry): readonly string[] => [
  ...(hosts.length > 0 ? ["hosts"] : []),
  ...(headers ? ["headers"] : []),
  ...(prefix !== null || pattern ? ["paths"] : []),
  ...(methods ? ["methods"] : []),
  ...(serverNames ? ["snis"] : []),
];

/** Whether everything but host and path matches; `RouteSearch` matches these two. */
export function matchesRest(entry: RouteEntry, request: RoutableRequest): boolean {
  if (entry.methods !== null && !entry.methods.has(request.method)) return false;
  if (entry.headers !== null && !entry.headers.every((rule) => acceptsHeader(rule, request))) return false;
  return acceptsServerName(entry, request);
}

export const acceptsServerName = ({ serverNames }: RouteEntry, { scheme, serverName }: RoutableRequest): boolean =>
  serverNames === null || scheme === "http" || (serverName !== null && serverNames.has(serverName));

export const acceptsHeader = (rule: HeaderRule, request: RoutableRequest): boolean =>
  request.headerValues(rule.name).some((sent) => {
    const value = sent.toLowerCase();
    return rule.pattern ? rule.pattern.test(value) : rule.values?.has(value) === true;
  });

function hostKind(hosts: readonly string[]): number {
  if (hosts.length === 0) return 0;
  const wildcards = hosts.map(parseHostPattern).filter((host) => host.kind !== "plain");
  if (wildcards.length === 0) return PLAIN_HOSTS;
  return wildcards.some((host) => host.port !== "") ? WILDCARD_WITH_PORT : 0;
}

function headerRules(headers: SnapshotRoute["headers"]): readonly HeaderRule[] | null {
  const rules = Object.entries(headers ?? {}).map(([name, values]): HeaderRule => {
    const [only] = values;
    const pattern = values.length === 1 && only?.startsWith("~*") ? regex(only.slice(2)) : null;
    return {
      name: lowerCase(name),
      values: pattern ? null : new Set(values.map((value) => value.toLowerCase())),
      pattern,
    };
  });
  return rules.length > 0 ? rules : null;
}

const filled = (words: readonly string[] | null): ReadonlySet<string> | null =>
  words !== null && words.length > 0 ? new Set(words) : null;

const count = (bits: number): number => {
  let left = bits;
  let ones = 0;
  for (; left > 0; left >>= 1) ones += left & 1;
  return ones;
};

/** Snapshots are validated: a pattern that does not compile here is a bug. */
function regex(source: string): Regex {
  const { value, violations } = compileRegex(source);
  if (value === undefined) throw new Error(`a snapshot holds the bad pattern ${source}: ${violations[0]?.message}`);
  return value;
}
