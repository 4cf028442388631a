/** The order of precedence of route entries. It is a total order: two different entries are never equal. */
import type { RouteEntry } from "./route-entry.ts";
import { hostKind, PLAIN_HOSTS } from "./weight.ts";

/** Negative when `a` wins: Kong's route priority (traditional_compatible router). */
export function compareEntries(a: RouteEntry, b: RouteEntry): number {
  if (a.weight !== b.weight) return b.weight - a.weight;
  if (a.regexPriority !== b.regexPriority) return b.regexPriority - a.regexPriority;
  if (a.prefixLength !== b.prefixLength) return b.prefixLength - a.prefixLength;
  if (a.route.created_at !== b.route.created_at) return a.route.created_at - b.route.created_at;
  return compareTexts(a.route.id, b.route.id) || a.position - b.position;
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

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
  if (isRegex(winner) !== isRegex(loser)) return "regular expressions rank before prefixes";
  const [headers, fewerHeaders] = [winner.headers?.length ?? 0, loser.headers?.length ?? 0];
  if (headers !== fewerHeaders) return `${headers} headers are more than ${fewerHeaders}`;
  if (winner.regexPriority !== loser.regexPriority)
    return `regex_priority ${winner.regexPriority} is more than ${loser.regexPriority}`;
  if (winner.prefixLength !== loser.prefixLength) return `the path ${winner.prefix} is longer`;
  if (winner.route === loser.route) return "it has another path that matches";
  return winner.route.created_at === loser.route.created_at ? "its id sorts first" : "it was created earlier";
}

const isRegex = ({ pattern, isExact }: RouteEntry): boolean => pattern !== null || isExact;

function attributesOf(entry: RouteEntry): readonly string[] {
  return [
    ...(entry.hosts.length > 0 ? ["hosts"] : []),
    ...(entry.headers ? ["headers"] : []),
    ...(entry.path === null ? [] : ["paths"]),
    ...(entry.methods ? ["methods"] : []),
    ...(entry.serverNames ? ["snis"] : []),
  ];
}
