/** Timeouts of a rule as members of its Service. */
import { type Finding, fails } from "./gateway-api.ts";

/** Milliseconds of each unit of a duration (GEP-2257). */
const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds; undefined: no duration of GEP-2257. */
function millisecondsOf(duration: string): number | undefined {
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(duration)) return undefined;
  let sum = 0;
  for (const [, count = "", unit = ""] of duration.matchAll(/([0-9]+)(ms|h|m|s)/g))
    sum += Number(count) * (units[unit] ?? 0);
  return sum;
}

/** The maximum of the model. */
const MAX_TIMEOUT = 2 ** 31 - 2;

export interface TimeoutMembers {
  readonly members: object;
  readonly faults: readonly Finding[];
}

/**
 * The shorter of the two timeouts limits how long the upstream may be silent. With a timeout of the whole request there
 * are no further attempts, which would take longer.
 */
export function timeoutMembers(
  { request, backendRequest }: { readonly request?: string; readonly backendRequest?: string } = {},
  path: string,
): TimeoutMembers {
  const faults: Finding[] = [];
  const limits: number[] = [];
  for (const [name, duration] of Object.entries({ request, backendRequest })) {
    if (duration === undefined) continue;
    const limit = millisecondsOf(duration);
    if (limit === undefined)
      faults.push(fails("UnsupportedValue", `${path}.${name}: ${duration} is not a duration, such as 1m30s`));
    // Zero means that there is no limit.
    else limits.push(limit === 0 ? MAX_TIMEOUT : limit);
  }
  if (limits.length === 0) return { members: {}, faults };
  const limit = Math.min(...limits, MAX_TIMEOUT);
  const members = { connectTimeout: limit, writeTimeout: limit, readTimeout: limit };
  return { members: request === undefined ? members : { ...members, retries: 0 }, faults };
}
