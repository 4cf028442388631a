/**
 * Entries: the units that the router sorts and tries. A route has one entry for each of its paths, so that each path
 * has its own place in the order of precedence.
 */
import { compileRegex, type Regex, type SnapshotRoute } from "@sluice/model/serving";
import { lowerCase } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../runtime.ts";
import { conditionHolds, type RouteCondition, routeConditions } from "./conditions.ts";
import { weightOf, weightWithPriority } from "./weight.ts";

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
  /** As configured; null: the route has no paths. */
  readonly path: string | null;
  /** What a path must begin with, or equal if `isExact`; null for a pattern and for a route without paths. */
  readonly prefix: string | null;
  readonly isExact: boolean;
  /** A regular expression that is not an exact path. */
  readonly pattern: Regex | null;
  readonly methods: ReadonlySet<string> | null;
  readonly headers: readonly HeaderRule[] | null;
  readonly serverNames: ReadonlySet<string> | null;
  /** Conditions of which all must hold; null: none. */
  readonly conditions: readonly RouteCondition[] | null;
  // The following members are compared in this order (precedence.ts). They are small integers in every entry, so that
  // the engine compares them without type checks.
  readonly weight: number;
  /** `NO_PRIORITY` if the route has none. */
  readonly priority: number;
  /** 0 for entries that are not compared by it: those with a prefix, and those of routes with a priority. */
  readonly regexPriority: number;
  /** 0 for entries that are not compared by it: those with a regular expression, and those of routes with a priority. */
  readonly prefixLength: number;
  /** The place of the path in the route's list. */
  readonly position: number;
}

/** The priority of Kong's routes: lower than any priority of a route. */
export const NO_PRIORITY = -1;

/** The entries of a route; empty if no protocol of the route is HTTP or gRPC, or if it has no attribute to match by. */
export function routeEntriesOf(route: SnapshotRoute): readonly RouteEntry[] {
  if (!route.protocols.some((protocol) => HTTP_PROTOCOLS.has(protocol))) return [];
  const hosts = (route.hosts ?? []).map((host) => host.toLowerCase());
  const headers = headerRules(route.headers);
  const methods = filled(route.methods);
  const serverNames = filled(route.snis);
  const priority = route._sluice?.priority ?? NO_PRIORITY;
  const conditions = routeConditions(route._sluice?.match, regex);
  const entry = (path: string | null, position: number): RouteEntry => {
    const source = path?.startsWith("~") ? path.slice(1) : null;
    const exact = source === null ? null : exactPathOf(source);
    const prefix = source === null ? path : exact;
    const attributes = {
      hosts,
      headerCount: headers?.length ?? 0,
      hasPath: path !== null,
      isRegex: source !== null,
      hasMethods: methods !== null,
      hasServerNames: serverNames !== null,
    };
    const hasPriority = priority !== NO_PRIORITY;
    return {
      route,
      hosts,
      path,
      prefix,
      isExact: exact !== null,
      pattern: source !== null && exact === null ? regex(source) : null,
      methods,
      headers,
      serverNames,
      conditions,
      weight: hasPriority ? weightWithPriority(hosts) : weightOf(attributes),
      priority,
      regexPriority: hasPriority || source === null ? 0 : route.regex_priority,
      prefixLength: hasPriority || source !== null ? 0 : (path?.length ?? 0),
      position,
    };
  };
  const paths = route.paths ?? [];
  if (paths.length > 0) return paths.map(entry);
  return hosts.length > 0 || headers || methods || serverNames ? [entry(null, 0)] : [];
}

/**
 * The only string that a regular expression matches from start to end, as UTF-16 code units; null: it may match several
 * strings. `$` is the very end of the string, without a line feed after it (plugin-sdk/src/tools/regex.ts).
 *
 * Null also for an unpaired surrogate: RE2 compares code points, so its comparison may differ from that of code units.
 *
 * Kong writes "exactly /foo" as the regular expression `~/foo$`. Regular expressions are tried one by one, so the router
 * keeps those that match a single path in its radix tree.
 */
export const exactPathOf = (source: string): string | null =>
  LITERAL.test(source) && source.isWellFormed() ? source.slice(0, -1).replace(/\\(.)/g, "$1") : null;

/** Literal characters, and ASCII punctuation after a backslash, up to an anchor at the end. */
const LITERAL = /^(?:[^\\.+*?()[\]{}^$|]|\\[!-/:-@[-`{-~])*\$$/;

const HTTP_PROTOCOLS: ReadonlySet<string> = new Set(["http", "https", "grpc", "grpcs"]);

/** Whether everything but host and path matches; `RouteSearch` matches these two. */
export function matchesRest(entry: RouteEntry, request: RoutableRequest): boolean {
  if (entry.methods !== null && !entry.methods.has(request.method)) return false;
  if (entry.headers !== null && !entry.headers.every((rule) => acceptsHeader(rule, request))) return false;
  if (entry.conditions !== null && !entry.conditions.every((condition) => conditionHolds(condition, request)))
    return false;
  return acceptsServerName(entry, request);
}

export const acceptsServerName = ({ serverNames }: RouteEntry, { scheme, serverName }: RoutableRequest): boolean =>
  serverNames === null || scheme === "http" || (serverName !== null && serverNames.has(serverName));

export const acceptsHeader = (rule: HeaderRule, request: RoutableRequest): boolean =>
  request.headerValues(rule.name).some((sent) => {
    const value = sent.toLowerCase();
    return rule.pattern ? rule.pattern.test(value) : rule.values?.has(value) === true;
  });

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

/** Snapshots are validated: a pattern that does not compile here is a bug. */
function regex(source: string): Regex {
  const { value, violations } = compileRegex(source);
  if (value === undefined) throw new Error(`a snapshot holds the bad pattern ${source}: ${violations[0]?.message}`);
  return value;
}
