/** rate-limiting: limits the requests of each period (docs/reference/kong-compatibility.md#rate-limiting). */

import {
  addressList,
  type BucketResult,
  type Counter,
  type CounterResult,
  countedByText,
  counterNames,
  type DirectResponse,
  definePlugin,
  type Exchange,
  OPERATION_COST,
  type PluginContext,
  periods,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { bucketLimitsOf, retryAfter, setBucketHeaders } from "./buckets.ts";
import { rateLimitEdits, secondsUntilRetry, setRateLimitHeaders } from "./headers.ts";
import { limitsOf } from "./limits.ts";
import { type RateLimitingConfig, rateLimitingFacts } from "./schema.ts";
import { slidingCounter } from "./sliding.ts";

type Decision = DirectResponse | undefined;

/** Counts a request. Returns the refusal, or undefined. */
type Count = (exchange: Exchange) => Decision | Promise<Decision>;

/** The limits of the config and the requests that share them, for the log and for explanations. */
function limitsText(config: RateLimitingConfig): string {
  const { limit_by, policy } = config;
  const limits = periods.flatMap((period) => (config[period] === null ? [] : `${config[period]} per ${period}`));
  const otherwise = limit_by === "consumer" || limit_by === "credential" ? " or, without one, by client address" : "";
  const by = `${countedByText(config)}${otherwise}${policy === "local" ? "; each node counts for itself" : ""}`;
  const cost = config.cost === "graphql" ? ", in costs of GraphQL operations," : "";
  return `the limit of ${limits.join(" or ")}${cost} is reached, ${by}`;
}

/** The cost that the plugin graphql has computed; 1 for other requests. */
function operationCost({ shared }: Exchange): number {
  const cost = Number(shared.get(OPERATION_COST));
  return Number.isSafeInteger(cost) && cost >= 1 ? cost : 1;
}

const SHARED_BY_ANONYMOUS = "all requests without a valid credential share the limit of the anonymous consumer";

/** @param seconds Until a further request may be admitted */
type Refuse = (exchange: Exchange, seconds: number) => DirectResponse;

function refusing(config: RateLimitingConfig): Refuse {
  const { error_code: status, error_message: message } = config;
  const reason = limitsText(config);
  const countsConsumers = config.limit_by === "consumer";
  return ({ anonymous }, seconds) => ({
    status,
    message,
    reason: countsConsumers && anonymous ? `${reason}; ${SHARED_BY_ANONYMOUS}` : reason,
    ...(config.hide_client_headers ? {} : { headers: { "Retry-After": String(seconds) } }),
  });
}

/** Decides about a request whose counters cannot be reached. */
function unreachable({ fault_tolerant, policy }: RateLimitingConfig): (error: unknown) => Decision {
  // With policy fleet, fleet_fallback has decided already if the counters are unreachable.
  const passes = fault_tolerant && policy !== "fleet";
  return (error) => (passes ? undefined : unexpectedError(`rate-limiting: ${(error as Error).message}`));
}

/** When a request was counted, and with which amount. */
interface CountedAt {
  /** Unix milliseconds. */
  readonly at: number;
  readonly amount: number;
}

function windowCount(config: RateLimitingConfig, { scope, counters, now }: PluginContext): Count {
  const limits = limitsOf(config);
  const edits = rateLimitEdits(limits);
  const onUnreachable = unreachable(config);
  const refuse = refusing(config);
  const { nameOf, scopeOf } = counterNames(config, scope);

  const amountOf = config.cost === "graphql" ? operationCost : () => 1;

  function slidingCountersOf(exchange: Exchange, at: number, amount: number): readonly Counter[] {
    const of = { name: nameOf(exchange), scope: scopeOf(exchange), amount };
    return limits.map((limit) => slidingCounter(limit, at, of));
  }

  function fixedCountersOf(exchange: Exchange, at: number, amount: number): readonly Counter[] {
    const name = nameOf(exchange);
    const scopeName = scopeOf(exchange);
    const counted: Counter[] = [];
    for (const { windows, period, limit } of limits) {
      const { start, end } = windows.at(at);
      counted.push({ name, scope: scopeName, period, limit, windowStart: start, expires: end, amount });
    }
    return counted;
  }

  const isSliding = config.window_type === "sliding";
  const countersOf = isSliding ? slidingCountersOf : fixedCountersOf;
  // An explanation of a request reads no previous windows.
  const noPrevious = isSliding ? limits.map(() => 0) : undefined;

  function decide(exchange: Exchange, result: CounterResult, { at, amount }: CountedAt): Decision {
    const { admitted, counts, previous = noPrevious } = result;
    const headers = config.hide_client_headers ? null : exchange.responseHeaders;
    const usage = { limits, edits, counts, previous, now: at };
    const tightest = setRateLimitHeaders(headers, usage);
    return admitted ? undefined : refuse(exchange, secondsUntilRetry(tightest, amount, usage));
  }

  return (exchange) => {
    const at = now();
    const amount = amountOf(exchange);
    const result = counters.incrementBelowLimit(countersOf(exchange, at, amount), config);
    // Local counters respond synchronously; a promise per request would cost more than the counting.
    if (!(result instanceof Promise)) return decide(exchange, result, { at, amount });
    return result.then((counted) => decide(exchange, counted, { at, amount }), onUnreachable);
  };
}

function bucketCount(config: RateLimitingConfig, { scope, counters, now }: PluginContext): Count {
  const limits = bucketLimitsOf(config);
  const onUnreachable = unreachable(config);
  const refuse = refusing(config);
  const { nameOf, scopeOf } = counterNames(config, scope);
  return (exchange) => {
    const name = nameOf(exchange);
    const scopeName = scopeOf(exchange);
    const buckets = limits.map((limit) => limit.bucket(name, scopeName));
    const decide = (filled: BucketResult): Decision => {
      if (!config.hide_client_headers) setBucketHeaders(exchange.responseHeaders, limits, filled);
      return filled.admitted ? undefined : refuse(exchange, retryAfter(limits, filled));
    };
    const result = counters.fillBuckets(buckets, now(), config);
    return result instanceof Promise ? result.then(decide, onUnreachable) : decide(result);
  };
}

export const rateLimiting = definePlugin({
  ...rateLimitingFacts,
  phases(config, context) {
    const reason = context.counters.unavailableReason?.(config.policy) ?? null;
    if (reason !== null) throw new Error(reason);
    const count = config.algorithm === "bucket" ? bucketCount(config, context) : windowCount(config, context);
    const isExempt = addressList(config.exempt);
    if (isExempt === null) return { access: count };
    return {
      access: (exchange) => (isExempt(exchange.request.clientAddress) ? undefined : count(exchange)),
    };
  },
});
