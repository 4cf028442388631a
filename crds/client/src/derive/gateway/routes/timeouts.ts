/** The timeouts and retries of a rule as members of its Service. */
import type { ServiceExtras } from "@sluice/model";
import { type ConditionFinding, falseFinding, type RouteRule } from "../gateway-api.ts";

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

/** Further attempts if the rule has none, as in Envoy Gateway. */
const DEFAULT_ATTEMPTS = 2;

/** The maximum of the model. */
const MAX_ATTEMPTS = 32_767;

/** Milliseconds between attempts if the rule has none, as in Envoy. */
const DEFAULT_BACKOFF = 25;

export interface AttemptMembers {
  readonly members: object;
  readonly extras: Pick<ServiceExtras, "retry" | "timeouts">;
  readonly faults: readonly ConditionFinding[];
}

/** @param source The path of the rule. */
export function attemptMembers({ timeouts, retry }: RouteRule, source: string): AttemptMembers {
  const faults: ConditionFinding[] = [];
  const request = duration(timeouts?.request, `${source}.timeouts.request`);
  const attempt = duration(timeouts?.backendRequest, `${source}.timeouts.backendRequest`);
  const backoff = duration(retry?.backoff, `${source}.retry.backoff`) ?? DEFAULT_BACKOFF;
  const given = [request, attempt].filter((limit) => limit !== undefined);
  // An upstream need not be silent for longer than the whole request or attempt may take. Zero means no limit.
  const silence = Math.min(...given.map((limit) => limit || MAX_TIMEOUT), MAX_TIMEOUT);
  const limits = { ...(request && { request }), ...(attempt && { attempt }) };
  return {
    members: {
      ...(given.length > 0 && { connectTimeout: silence, writeTimeout: silence, readTimeout: silence }),
      ...(retry && { retries: Math.min(retry.attempts ?? DEFAULT_ATTEMPTS, MAX_ATTEMPTS) }),
    },
    extras: {
      ...(retry && { retry: { codes: retry.codes ?? [], backoff } }),
      ...(Object.keys(limits).length > 0 && { timeouts: limits }),
    },
    faults,
  };

  function duration(text: string | undefined, path: string): number | undefined {
    if (text === undefined) return undefined;
    const milliseconds = millisecondsOf(text);
    if (milliseconds === undefined)
      faults.push(falseFinding("UnsupportedValue", `${path}: ${text} is not a duration, such as 1m30s`));
    return milliseconds === undefined ? undefined : Math.min(milliseconds, MAX_TIMEOUT);
  }
}
