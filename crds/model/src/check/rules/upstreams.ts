/** Rules for combinations of an upstream's members. */
import { conditionalViolations, type RecordMembers, type RecordRule, recordViolation } from "@sluice/plugin-sdk";

/** Hash sources that hash_on and hash_fallback may both have, but with different headers, arguments or captures. */
const detailed = ["header", "query_arg", "uri_capture"] as const;
const every = ["none", "consumer", "ip", "header", "cookie", "path", "query_arg", "uri_capture"];

/** The member that a hash source requires, such as `hash_on_header`; undefined if it requires none. */
function detail(place: string, source: unknown): string | undefined {
  if (source === "cookie") return "hash_on_cookie";
  return detailed.some((one) => one === source) ? `${place}_${source}` : undefined;
}

function fallbacks(hashOn: unknown): readonly string[] {
  if (hashOn === "none" || hashOn === "cookie") return ["none"];
  return every.filter((source) => source !== hashOn || source === "none" || detailed.some((one) => one === source));
}

export const upstreamRule: RecordRule = (members) => [
  ...["hash_on", "hash_fallback"].flatMap((place) => missingDetail(members, place)),
  ...unsuitableFallback(members),
  ...detailed.flatMap((source) => sameDetail(members, source)),
];

function missingDetail(members: RecordMembers, place: string) {
  const wanted = detail(place, members[place]);
  return wanted === undefined || members[wanted] !== null
    ? []
    : conditionalViolations(place, [wanted], "required field missing");
}

function unsuitableFallback({ hash_on, hash_fallback }: RecordMembers) {
  const allowed = fallbacks(hash_on);
  if (typeof hash_fallback !== "string" || !every.includes(hash_fallback) || allowed.includes(hash_fallback)) return [];
  return conditionalViolations("hash_on", ["hash_fallback"], `expected one of: ${allowed.join(", ")}`);
}

function sameDetail(members: RecordMembers, source: string) {
  const [one, other] = [`hash_on_${source}`, `hash_fallback_${source}`];
  const clash = typeof members[one] === "string" && members[one] === members[other];
  return clash ? [recordViolation(`values of these fields must be distinct: '${one}', '${other}'`)] : [];
}
