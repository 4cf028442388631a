/** Rate-limit headers to the client. RateLimit-*: draft-ietf-httpapi-ratelimit-headers-07. */
import {
  type HeaderEdits,
  HeaderName,
  type NumberedEdits,
  nominalLength,
  numberedEdits,
  secondsUntilReset,
} from "@sluice/plugin-sdk";
import type { Limit } from "./limits.ts";
import { secondsUntilAdmitted, secondsUntilUnused } from "./sliding.ts";

export const RATE_LIMIT_REMAINING = new HeaderName("RateLimit-Remaining");
export const RATE_LIMIT_RESET = new HeaderName("RateLimit-Reset");

export interface WindowUsage {
  readonly limits: readonly Limit[];
  /** By the index of the tightest limit, as `rateLimitEdits` returns them. */
  readonly edits: readonly NumberedEdits[];
  readonly counts: readonly number[];
  /** For sliding windows: the requests of the windows before. */
  readonly previous?: readonly number[] | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

const remainingOf = ({ limit }: Limit, count: number | undefined): number => Math.max(0, limit - (count ?? 0));

/** Seconds until the window ends; for a sliding one, until no request counts any more. */
function resetOf(limit: Limit, at: number, { counts, previous, now }: WindowUsage): number {
  if (previous === undefined) return secondsUntilReset(limit.period, { start: limit.windows.at(now).start, now });
  return secondsUntilUnused(limit, { count: counts[at] ?? 0, previous: previous[at] ?? 0, now });
}

/**
 * Index of the limit with the fewest remaining requests; of several such limits, the one with the longest period. -1
 * without limits.
 */
function tightestOf({ limits, counts }: WindowUsage): number {
  let tightest = -1;
  let least = 0;
  let longest = 0;
  for (let at = 0; at < limits.length; at++) {
    const limit = limits[at];
    if (limit === undefined) continue;
    const remaining = remainingOf(limit, counts[at]);
    const length = nominalLength[limit.period];
    if (tightest >= 0 && (remaining > least || (remaining === least && length <= longest))) continue;
    tightest = at;
    least = remaining;
    longest = length;
  }
  return tightest;
}

/**
 * Edits that set `X-RateLimit-*` with the limit and the remaining requests of every period, and `RateLimit-*` for the
 * tightest limit, the one with the fewest remaining requests. Their numbers are the remaining requests of every period,
 * those of the tightest limit, and the seconds until its reset.
 *
 * @returns an item for each limit that may be the tightest
 */
export const rateLimitEdits = (limits: readonly Limit[]): readonly NumberedEdits[] =>
  limits.map(({ tightestLimitEdit }) =>
    numberedEdits([
      ...limits.flatMap(({ limitEdit, remaining }) => [limitEdit, remaining]),
      ...[tightestLimitEdit, RATE_LIMIT_REMAINING, RATE_LIMIT_RESET],
    ]),
  );

/**
 * Applies the edits for the tightest limit.
 *
 * @param headers null: no headers are set
 * @returns the index of the tightest limit; -1 without limits
 */
export function setRateLimitHeaders(headers: HeaderEdits | null, usage: WindowUsage): number {
  const { limits, edits, counts } = usage;
  const at = tightestOf(usage);
  const tightest = limits[at];
  const editsWith = edits[at];
  if (tightest === undefined || editsWith === undefined || headers === null) return at;
  const numbers = new Array<number>(limits.length + 2);
  for (let index = 0; index < limits.length; index++) {
    const limit = limits[index];
    if (limit !== undefined) numbers[index] = remainingOf(limit, counts[index]);
  }
  numbers[limits.length] = remainingOf(tightest, counts[at]);
  numbers[limits.length + 1] = resetOf(tightest, at, usage);
  headers.applyAll(editsWith(numbers));
  return at;
}

/**
 * Whole seconds until a refused request may be admitted, at least 1.
 *
 * @param at The index of the tightest limit
 */
export function secondsUntilRetry(at: number, amount: number, usage: WindowUsage): number {
  const limit = usage.limits[at];
  if (limit === undefined) return 1;
  const { counts, previous, now } = usage;
  if (previous === undefined) return resetOf(limit, at, usage);
  return secondsUntilAdmitted(limit, amount, { count: counts[at] ?? 0, previous: previous[at] ?? 0, now });
}
