/** Rules between members of an upstream. */
import { conditional, ofWhole, type RecordMembers, type RecordRule } from "./rule.ts";

/** The member that each hash source requires, such as the header's name; undefined if none. */
const detail = (place: "hash_on" | "hash_fallback", source: unknown): string | undefined => {
  switch (source) {
    case "header":
    case "query_arg":
    case "uri_capture":
      return `${place}_${source}`;
    case "cookie":
      return "hash_on_cookie";
    default:
      return undefined;
  }
};

/** Sources allowed for both hash_on and hash_fallback, because each names its own header or argument. */
const repeatable = new Set<unknown>(["header", "query_arg", "uri_capture", "none"]);
const every = ["none", "consumer", "ip", "header", "cookie", "path", "query_arg", "uri_capture"];

function fallbacks(hashOn: unknown): readonly string[] {
  if (hashOn === "none" || hashOn === "cookie") return ["none"];
  return every.filter((source) => repeatable.has(source) || source !== hashOn);
}

export const upstreamRule: RecordRule = (members) => [
  ...(["hash_on", "hash_fallback"] as const).flatMap((place) => missingDetail(members, place)),
  ...unsuitableFallback(members),
  ...(["header", "query_arg", "uri_capture"] as const).flatMap((source) => sameDetail(members, source)),
];

function missingDetail(members: RecordMembers, place: "hash_on" | "hash_fallback") {
  const wanted = detail(place, members[place]);
  return wanted === undefined || members[wanted] !== null ? [] : conditional(place, [wanted], "required field missing");
}

function unsuitableFallback({ hash_on, hash_fallback }: RecordMembers) {
  const allowed = fallbacks(hash_on);
  if (typeof hash_fallback !== "string" || !every.includes(hash_fallback) || allowed.includes(hash_fallback)) return [];
  return conditional("hash_on", ["hash_fallback"], `expected one of: ${allowed.join(", ")}`);
}

function sameDetail(members: RecordMembers, source: "header" | "query_arg" | "uri_capture") {
  const [one, other] = [`hash_on_${source}`, `hash_fallback_${source}`];
  const clash = typeof members[one] === "string" && members[one] === members[other];
  return clash ? [ofWhole(`values of these fields must be distinct: '${one}', '${other}'`)] : [];
}
