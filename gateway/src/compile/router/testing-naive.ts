/**
 * The router's oracle: Kong's rules in the order of docs/reference/kong-compatibility.md#routing, and the rules for
 * routes with a priority, over all routes one by one. For tests only; it shares no code with the router.
 */
import type { DocumentListener, SnapshotRoute, ValueMatch } from "@sluice/model";
import { lowerCase } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../runtime.ts";

interface Candidate {
  readonly route: SnapshotRoute;
  readonly path: string | null;
}

export interface NaiveMatch {
  readonly route: SnapshotRoute;
  /** Length of the part of the path that matched. */
  readonly length: number;
  /** Null if the path is not a regular expression. */
  readonly captures: object | null;
}

export function naiveMatch(routes: readonly SnapshotRoute[], request: RoutableRequest): NaiveMatch | null {
  const candidates = routes.flatMap((route): Candidate[] =>
    has(route.paths) ? route.paths.map((path) => ({ route, path })) : [{ route, path: null }],
  );
  const matching = candidates.filter((candidate) => matches(candidate, request));
  const [first] = matching.sort(order);
  if (first === undefined) return null;
  const found = isRegex(first) ? regexOf(first.path ?? "").exec(request.path) : null;
  return {
    route: first.route,
    length: found ? found[0].length : prefixLength(first),
    // Without groups there are no captures, as in `matchPrefix`.
    captures: found && (found.length > 1 ? { ...[...found] } : {}),
  };
}

/** As `naiveMatch`, among the routes of the listener that the request reaches. */
export function naiveMatchAt(
  listeners: readonly DocumentListener[],
  routes: readonly SnapshotRoute[],
  request: RoutableRequest,
): NaiveMatch | "misdirected" | null {
  const { documentPort, host, serverName } = request;
  if (documentPort === null)
    return naiveMatch(
      routes.filter(({ _sluice }) => !_sluice?.listeners),
      request,
    );
  const ofPort = listeners.filter(({ port }) => port === documentPort);
  const reached = mostSpecific(ofPort, host);
  if (reached === undefined) return null;
  if (reached.protocol === "https" && mostSpecific(ofPort, serverName ?? "") !== reached) return "misdirected";
  return naiveMatch(
    routes.filter(({ _sluice }) => _sluice?.listeners?.includes(reached.name)),
    request,
  );
}

function mostSpecific(listeners: readonly DocumentListener[], host: string): DocumentListener | undefined {
  const name = host.replace(/:\d+$/, "");
  const covers = ({ hostname }: DocumentListener) =>
    hostname === undefined || hostname === name || (hostname.startsWith("*") && name.endsWith(hostname.slice(1)));
  const rank = ({ hostname = "" }: DocumentListener) => (hostname.startsWith("*") ? hostname.length : hostname && 999);
  return listeners.filter(covers).sort((one, other) => Number(rank(other)) - Number(rank(one)))[0];
}

const has = <Item>(list: readonly Item[] | null): list is readonly Item[] => list !== null && list.length > 0;

const kinds = ({ route }: Candidate): readonly boolean[] => [
  has(route.hosts),
  headerNames(route).length > 0,
  has(route.paths),
  has(route.methods),
  has(route.snis),
];

const headerNames = (route: SnapshotRoute) => Object.keys(route.headers ?? {});

function matches(candidate: Candidate, request: RoutableRequest): boolean {
  const { route, path } = candidate;
  return (
    kinds(candidate).includes(true) &&
    (!has(route.hosts) || route.hosts.some((host) => matchesHost(host, request))) &&
    headerNames(route).every((name) =>
      matchesHeader(route.headers?.[name] ?? [], request.headerValues(lowerCase(name))),
    ) &&
    (path === null || matchesPath(path, request.path)) &&
    conditionsHold(route, request) &&
    (!has(route.methods) || route.methods.includes(request.method)) &&
    (!has(route.snis) || request.scheme === "http" || route.snis.includes(request.serverName ?? ""))
  );
}

function conditionsHold({ _sluice }: SnapshotRoute, request: RoutableRequest): boolean {
  const { headers = [], query = [] } = _sluice?.match ?? {};
  const sent = new URLSearchParams(request.query);
  const matches = ({ value, type }: ValueMatch, found: string | undefined) =>
    found !== undefined && (type === "regex" ? new RegExp(`^(?:${value})$`).test(found) : found === value);
  return (
    headers.every((condition) => {
      const values = request.headerValues(lowerCase(condition.name));
      return matches(condition, values.length > 0 ? values.join(", ") : undefined);
    }) && query.every((condition) => matches(condition, sent.getAll(condition.name)[0]))
  );
}

const matchesPath = (path: string, sent: string): boolean =>
  path.startsWith("~") ? regexOf(path).test(sent) : sent.startsWith(path);

const regexOf = (path: string): RegExp => new RegExp(`^(?:${path.slice(1)})`);

function matchesHost(pattern: string, { host, scheme }: RoutableRequest): boolean {
  const [, name = "", sent] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  const port = sent ?? (scheme === "https" ? "443" : "80");
  const [, wantedName = "", wantedPort] = /^(.*?)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const source = wantedName.replaceAll(".", "\\.").replace("*", ".+");
  return new RegExp(`^${source}$`).test(name);
}

const matchesHeader = (wanted: readonly string[], sent: readonly string[]): boolean =>
  sent.some((value) => {
    const [only = ""] = wanted;
    if (wanted.length === 1 && only.startsWith("~*")) return new RegExp(only.slice(2)).test(value.toLowerCase());
    return wanted.some((word) => word.toLowerCase() === value.toLowerCase());
  });

type Comparison = () => number;

function order(a: Candidate, b: Candidate): number {
  const comparisons =
    hasPriority(a) && hasPriority(b)
      ? byPriority(a, b)
      : hasPriority(a) || hasPriority(b)
        ? byRank(rankOf(a), rankOf(b))
        : [...byRank(rankOf(a), rankOf(b)), ...byKong(a, b)];
  for (const compare of comparisons) {
    const difference = compare();
    if (difference !== 0) return difference;
  }
  return 0;
}

const hasPriority = ({ route }: Candidate): boolean => route._sluice?.priority !== undefined;

interface Rank {
  readonly kinds: readonly boolean[];
  readonly host: number;
  readonly isRegex: boolean;
  readonly headers: number;
  readonly hasPriority: boolean;
}

/** A route with a priority has the rank of a route with a host, if it has one, and a regular expression as path. */
function rankOf(candidate: Candidate): Rank {
  const { route } = candidate;
  if (!hasPriority(candidate)) {
    const headers = headerNames(route).length;
    return { kinds: kinds(candidate), host: hostRank(route), isRegex: isRegex(candidate), headers, hasPriority: false };
  }
  const host = wildcardLength(route) === Number.POSITIVE_INFINITY ? 1 : 0;
  return { kinds: [has(route.hosts), false, true, false, false], host, isRegex: true, headers: 0, hasPriority: true };
}

const byRank = (a: Rank, b: Rank): readonly Comparison[] => [
  () => count(b.kinds) - count(a.kinds),
  ...[0, 1, 2, 3, 4].map((kind) => () => Number(b.kinds[kind]) - Number(a.kinds[kind])),
  () => b.host - a.host,
  () => Number(b.isRegex) - Number(a.isRegex),
  () => b.headers - a.headers,
  () => Number(b.hasPriority) - Number(a.hasPriority),
];

const byKong = (a: Candidate, b: Candidate): readonly Comparison[] => [
  () => (isRegex(a) ? b.route.regex_priority - a.route.regex_priority : 0),
  () => prefixLength(b) - prefixLength(a),
  () => a.route.created_at - b.route.created_at,
  () => byText(a.route.id, b.route.id),
];

const byPriority = (a: Candidate, b: Candidate): readonly Comparison[] => [
  () => byNumber(wildcardLength(b.route), wildcardLength(a.route)),
  () => byNumber(hostLength(b.route), hostLength(a.route)),
  () => Number(b.route._sluice?.priority) - Number(a.route._sluice?.priority),
  () => a.route.created_at - b.route.created_at,
  () => byText(a.route.name ?? "", b.route.name ?? ""),
  () => byText(a.route.id, b.route.id),
];

/** The length of the host's name, without its port; infinite for a host without a wildcard, -1 without hosts. */
function wildcardLength({ hosts }: SnapshotRoute): number {
  const [host] = hosts ?? [];
  if (host === undefined) return -1;
  return host.includes("*") ? host.replace(/:\d+$/, "").length : Number.POSITIVE_INFINITY;
}

/** With the port: a host with a port is more specific than the same host without one. */
const hostLength = ({ hosts }: SnapshotRoute): number => hosts?.[0]?.length ?? 0;

const byNumber = (a: number, b: number): number => (a === b ? 0 : a - b);

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const count = (flags: readonly boolean[]): number => flags.filter(Boolean).length;

const isRegex = ({ path }: Candidate): boolean => path?.startsWith("~") === true;

const prefixLength = (candidate: Candidate): number => (isRegex(candidate) ? 0 : (candidate.path?.length ?? 0));

/** 2: a wildcard with a port; 1: plain hosts only; 0: wildcards, but none with a port, or no hosts. */
function hostRank({ hosts }: SnapshotRoute): number {
  if (!has(hosts)) return 0;
  const wildcards = hosts.filter((host) => host.includes("*"));
  if (wildcards.length === 0) return 1;
  return wildcards.some((host) => host.includes(":")) ? 2 : 0;
}
