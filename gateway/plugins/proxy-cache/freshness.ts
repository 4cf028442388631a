/** Whether a stored response may be used for a request (RFC 9111 sections 4.2 and 5.2.1). */
import { type Directives, secondsIn } from "./directives.ts";
import type { ProxyCacheConfig } from "./schema.ts";
import type { StoredResponse } from "./stored-response.ts";

/** The age of the response in seconds. */
export const ageOf = ({ timestamp }: StoredResponse, now: number): number => Math.max(0, (now - timestamp) / 1000);

export function isUsable(
  stored: StoredResponse,
  { cache_control, cache_ttl }: ProxyCacheConfig,
  { directives, now }: { readonly directives: Directives; readonly now: number },
): boolean {
  const age = ageOf(stored, now);
  if (!cache_control) return age <= cache_ttl;
  if (age > (secondsIn(directives, "max-age") ?? Number.POSITIVE_INFINITY)) return false;
  const left = stored.ttl - age;
  if (left < (secondsIn(directives, "min-fresh") ?? 0)) return acceptsStale(stored, directives, -left);
  return true;
}

/** Whether a stale response may be used. `max-stale` without a number accepts a stale response of any age. */
function acceptsStale({ mustRevalidate }: StoredResponse, directives: Directives, staleness: number): boolean {
  const argument = directives.get("max-stale");
  if (argument === undefined || mustRevalidate || directives.has("min-fresh")) return false;
  return argument === "" || staleness <= (secondsIn(directives, "max-stale") ?? 0);
}
