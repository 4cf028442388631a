/** The order of precedence of route entries. It is a total order: two different entries are never equal. */
import { NO_PRIORITY, type RouteEntry } from "./route-entry.ts";
import { hostKind, hostKindWithPriority, PLAIN_HOSTS } from "./weight.ts";

/**
 * Negative when `a` wins.
 *
 * - Routes without a priority: Kong's route priority (traditional_compatible router).
 * - Routes with a priority: the more specific host, the higher priority, the older route, the name that sorts first.
 * - One of each: see `weightWithPriority`.
 */
export function compareEntries(a: RouteEntry, b: RouteEntry): number {
  if (a.weight !== b.weight) return b.weight - a.weight;
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.regexPriority !== b.regexPriority) return b.regexPriority - a.regexPriority;
  if (a.prefixLength !== b.prefixLength) return b.prefixLength - a.prefixLength;
  if (a.route.created_at !== b.route.created_at) return a.route.created_at - b.route.created_at;
  const byName = hasPriority(a) ? compareTexts(a.route.name ?? "", b.route.name ?? "") : 0;
  return byName || compareTexts(a.route.id, b.route.id) || a.position - b.position;
}

const hasPriority = ({ priority }: RouteEntry): boolean => priority !== NO_PRIORITY;

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The first rule of `compareEntries` by which `winner` takes precedence over `loser`. */
export function precedenceReason(winner: RouteEntry, loser: RouteEntry): string {
  if (hasPriority(winner) && hasPriority(loser)) return reasonByPriority(winner, loser);
  const [more, fewer] = [attributesOf(winner), attributesOf(loser)];
  if (more.length !== fewer.length)
    return `it ${countsAs(winner) || "has "}${more.length} kinds of attributes (${more.join(", ")}), this one ${countsAs(loser)}${fewer.length} (${fewer.join(", ")})`;
  const kind = more.find((name) => !fewer.includes(name));
  if (kind !== undefined) return `${kind} rank before ${fewer.find((name) => !more.includes(name))}`;
  const own = hostKindOf(winner);
  if (own !== hostKindOf(loser))
    return own === PLAIN_HOSTS ? "hosts rank before wildcards" : "wildcards with a port rank before other hosts";
  if (hasPriority(winner)) return "routes of Ingress and Gateway API resources rank before other routes";
  if (isRegex(winner) !== isRegex(loser)) return "regular expressions rank before prefixes";
  const [headers, fewerHeaders] = [winner.headers?.length ?? 0, loser.headers?.length ?? 0];
  if (headers !== fewerHeaders) return `${headers} headers are more than ${fewerHeaders}`;
  if (winner.regexPriority !== loser.regexPriority)
    return `regex_priority ${winner.regexPriority} is more than ${loser.regexPriority}`;
  if (winner.prefixLength !== loser.prefixLength) return `the path ${winner.prefix} is longer`;
  return reasonByAge(winner, loser) ?? "its id sorts first";
}

function reasonByPriority(winner: RouteEntry, loser: RouteEntry): string {
  if (winner.weight !== loser.weight) return "its host is more specific";
  if (winner.priority !== loser.priority) return `priority ${winner.priority} is more than ${loser.priority}`;
  const hasSameName = winner.route.name === loser.route.name;
  return reasonByAge(winner, loser) ?? (hasSameName ? "its id sorts first" : "its name sorts first");
}

function reasonByAge(winner: RouteEntry, loser: RouteEntry): string | undefined {
  if (winner.route === loser.route) return "it has another path that matches";
  return winner.route.created_at === loser.route.created_at ? undefined : "it was created earlier";
}

/** Of a route with a priority, only host and path count. */
const countsAs = (entry: RouteEntry): string => (hasPriority(entry) ? "counts as " : "");

const hostKindOf = (entry: RouteEntry): number =>
  hasPriority(entry) ? hostKindWithPriority(entry.hosts) : hostKind(entry.hosts);

const isRegex = ({ pattern, isExact }: RouteEntry): boolean => pattern !== null || isExact;

function attributesOf(entry: RouteEntry): readonly string[] {
  const hosts = entry.hosts.length > 0 ? ["hosts"] : [];
  if (hasPriority(entry)) return [...hosts, "paths"];
  return [
    ...hosts,
    ...(entry.headers ? ["headers"] : []),
    ...(entry.path === null ? [] : ["paths"]),
    ...(entry.methods ? ["methods"] : []),
    ...(entry.serverNames ? ["snis"] : []),
  ];
}
