/** What a client is told about its limits (kong-contract 3.2; RateLimit-*: draft-ietf-httpapi-ratelimit-headers-07). */
import type { Period } from "@sluice/model";
import type { Counter } from "./counters.ts";
import { nominalLength, secondsUntilReset } from "./windows.ts";

const title = (period: Period) => period.charAt(0).toUpperCase() + period.slice(1);

export interface LimitHeaders {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Seconds until the tightest limit begins anew. */
  readonly reset: number;
}

/** Limit and remaining of every period, and those of the one with the least remaining (of several, the longest). */
export function limitHeaders(
  counters: readonly Counter[],
  { counts, now }: { readonly counts: readonly number[]; readonly now: number },
): LimitHeaders {
  const headers: [string, string][] = [];
  let tightest: { readonly counter: Counter; readonly remaining: number } | undefined;
  for (const [index, counter] of counters.entries()) {
    const remaining = Math.max(0, counter.limit - (counts[index] ?? 0));
    headers.push([`X-RateLimit-Limit-${title(counter.period)}`, String(counter.limit)]);
    headers.push([`X-RateLimit-Remaining-${title(counter.period)}`, String(remaining)]);
    const tighter =
      tightest === undefined ||
      remaining < tightest.remaining ||
      (remaining === tightest.remaining && nominalLength[counter.period] > nominalLength[tightest.counter.period]);
    if (tighter) tightest = { counter, remaining };
  }
  if (tightest === undefined) return { headers, reset: 1 };
  const { counter, remaining } = tightest;
  const reset = secondsUntilReset(counter.period, { start: counter.windowStart, now });
  headers.push(
    ["RateLimit-Limit", String(counter.limit)],
    ["RateLimit-Remaining", String(remaining)],
    ["RateLimit-Reset", String(reset)],
  );
  return { headers, reset };
}
