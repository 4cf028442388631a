/** rate-limiting: limits the requests of each period (docs/reference/kong-compatibility.md#rate-limiting). */

import {
  addressList,
  type Counter,
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
import { secondsUntilRetry, setRateLimitHeaders } from "./headers.ts";
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

/** Decides from the counters' result whether the request is admitted. */
type Settle = <Value>(
  result: Value | Promise<Value>,
  decide: (value: Value) => Decision,
) => Decision | Promise<Decision>;

function settling({ fault_tolerant, policy }: RateLimitingConfig): Settle {
  // With policy fleet, fleet_fallback has decided already if the counters are unreachable.
  const passes = fault_tolerant && policy !== "fleet";
  const unreachable = (error: unknown): Decision =>
    passes ? undefined : unexpectedError(`rate-limiting: ${(error as Error).message}`);
  // Local counters respond synchronously; a promise per request would cost more than the counting.
  return (result, decide) => (result instanceof Promise ? result.then(decide, unreachable) : decide(result));
}

function windowCount(config: RateLimitingConfig, { scope, counters, now }: PluginContext): Count {
  const limits = limitsOf(config);
  const settle = settling(config);
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
    return limits.map((limit) => {
      const { start, end } = limit.windows.at(at);
      return {
        name,
        scope: scopeName,
        period: limit.period,
        limit: limit.limit,
        windowStart: start,
        expires: end,
        amount,
      };
    });
  }

  const isSliding = config.window_type === "sliding";
  const countersOf = isSliding ? slidingCountersOf : fixedCountersOf;
  // An explanation of a request reads no previous windows.
  const noPrevious = isSliding ? limits.map(() => 0) : undefined;

  return (exchange) => {
    const at = now();
    const amount = amountOf(exchange);
    const counted = countersOf(exchange, at, amount);
    return settle(counters.incrementBelowLimit(counted, config), ({ admitted, counts, previous = noPrevious }) => {
      const headers = config.hide_client_headers ? null : exchange.responseHeaders;
      const usage = { limits, counts, previous, now: at };
      const tightest = setRateLimitHeaders(headers, usage);
      return admitted ? undefined : refuse(exchange, secondsUntilRetry(tightest, amount, usage));
    });
  };
}

function bucketCount(config: RateLimitingConfig, { scope, counters, now }: PluginContext): Count {
  const limits = bucketLimitsOf(config);
  const settle = settling(config);
  const refuse = refusing(config);
  const { nameOf, scopeOf } = counterNames(config, scope);
  return (exchange) => {
    const name = nameOf(exchange);
    const scopeName = scopeOf(exchange);
    const buckets = limits.map((limit) => limit.bucket(name, scopeName));
    return settle(counters.fillBuckets(buckets, now(), config), (filled) => {
      if (!config.hide_client_headers) setBucketHeaders(exchange.responseHeaders, limits, filled);
      return filled.admitted ? undefined : refuse(exchange, retryAfter(limits, filled));
    });
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
