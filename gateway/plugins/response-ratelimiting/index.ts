/**
 * response-ratelimiting: limits the amounts that services report in a response header
 * (docs/reference/kong-compatibility.md#response-ratelimiting).
 */
import {
  type Counter,
  counterScope,
  type DirectResponse,
  definePlugin,
  type Exchange,
  ExchangeValues,
  type HeaderEdit,
  HeaderName,
  lowerCase,
  type Period,
  PeriodWindows,
  periods,
  removeHeaderEdit,
  setHeaderEdit,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { responseRatelimitingFacts } from "./schema.ts";

const exceeded = (name: string): DirectResponse => ({
  status: 429,
  message: `API rate limit exceeded for '${name}'`,
});

/** The replacement for a response that reports an amount for a used-up limit; without a body, as in Kong. */
const replaced: DirectResponse = { status: 429, body: "" };

/** A limit for one period, with everything precomputed that is the same for each request. */
interface PeriodLimit {
  readonly period: Period;
  readonly limit: number;
  readonly windows: PeriodWindows;
  /** X-RateLimit-Limit-<name>-<period> */
  readonly limitEdit: HeaderEdit;
  /** X-RateLimit-Remaining-<name>-<period> */
  readonly remaining: HeaderName;
}

const periodLimit = (name: string, period: Period, limit: number): PeriodLimit => ({
  period,
  limit,
  windows: new PeriodWindows(period),
  limitEdit: setHeaderEdit(`X-RateLimit-Limit-${name}-${period}`, String(limit)),
  remaining: new HeaderName(`X-RateLimit-Remaining-${name}-${period}`),
});

interface NamedLimit {
  readonly name: string;
  /** X-RateLimit-Remaining-<name>, for the service. */
  readonly remaining: HeaderName;
  readonly periods: readonly PeriodLimit[];
}

/** The use of one limit by the consumer, credential or address for which the request is counted. */
interface LimitUsage {
  readonly limit: NamedLimit;
  readonly counters: readonly Counter[];
  /** The remaining amount in each period, before this request; negative if concurrent requests exceeded the limit. */
  readonly remaining: readonly number[];
}

interface Usage {
  readonly limits: readonly LimitUsage[];
  /** Null until the service has responded. */
  reported: ReadonlyMap<string, number> | null;
  /** Whether the response is replaced, so that its amounts are not added to the counters. */
  isReplaced: boolean;
}

const NONE: ReadonlyMap<string, number> = new Map();

export const responseRatelimiting = definePlugin({
  ...responseRatelimitingFacts,
  phases(config, { scope, counters, now, log }) {
    const reason = counters.unavailableReason?.(config.policy) ?? null;
    if (reason !== null) throw new Error(reason);
    const names = new Set(Object.keys(config.limits));
    const header = lowerCase(config.header_name);
    const removal = removeHeaderEdit(config.header_name);
    const limits = Object.entries(config.limits).map(
      ([name, amounts]): NamedLimit => ({
        name,
        remaining: new HeaderName(`X-RateLimit-Remaining-${name}`),
        periods: periods.flatMap((period) => {
          const limit = amounts[period];
          return typeof limit !== "number" ? [] : [periodLimit(name, period, limit)];
        }),
      }),
    );
    const scopeName = `response-ratelimiting:${counterScope(scope)}`;
    const options = { policy: config.policy, redis: config.redis, sync_rate: -1 };
    const usages = new ExchangeValues<Usage>();

    function identifierOf({ consumer, credential, request }: Exchange): string {
      const id = config.limit_by === "consumer" ? (consumer?.id ?? credential?.id) : credential?.id;
      return (config.limit_by === "ip" ? undefined : id) ?? request.clientAddress;
    }

    function countersOf(exchange: Exchange): readonly (readonly Counter[])[] {
      const at = now();
      const identifier = identifierOf(exchange);
      return limits.map(({ name, periods: ofName }) => {
        const counter = `${scopeName}:${identifier}:${name}`;
        return ofName.map(({ period, limit, windows }) => {
          const { start, end } = windows.at(at);
          return { name: counter, scope: scopeName, period, limit, windowStart: start, expires: end };
        });
      });
    }

    /** Returns the refusal; undefined: the request is forwarded, with the remaining amounts in its headers. */
    function admit(
      exchange: Exchange,
      wanted: readonly (readonly Counter[])[],
      counts: readonly (readonly number[])[],
    ) {
      const usage: Usage = {
        limits: limits.map((limit, at) => ({
          limit,
          counters: wanted[at] ?? [],
          remaining: (wanted[at] ?? []).map(({ limit }, index) => limit - (counts[at]?.[index] ?? 0)),
        })),
        reported: null,
        isReplaced: false,
      };
      if (config.block_on_first_violation) {
        const used = usage.limits.find(({ remaining }) => remaining.some((each) => each <= 0));
        if (used !== undefined) return exceeded(used.limit.name);
      }
      for (const { limit, remaining } of usage.limits) {
        exchange.upstreamHeaders.set(limit.remaining, String(Math.min(...remaining)));
      }
      usages.set(exchange, usage);
      return undefined;
    }

    const unreachable = (error: unknown): DirectResponse | undefined =>
      config.fault_tolerant ? undefined : unexpectedError(`response-ratelimiting: ${(error as Error).message}`);

    function setHeaders({ responseHeaders }: Exchange, usage: Usage, reported: ReadonlyMap<string, number>): void {
      for (const { limit, remaining } of usage.limits) {
        for (const [index, ofPeriod] of limit.periods.entries()) {
          const left = Math.max(0, (remaining[index] ?? 0) - (reported.get(limit.name) ?? 0));
          responseHeaders.apply(ofPeriod.limitEdit);
          responseHeaders.set(ofPeriod.remaining, String(left));
        }
      }
    }

    return {
      access(exchange) {
        const wanted = countersOf(exchange);
        const counts = wanted.map((each) => counters.addAmount(each, 0, options));
        // Local counters respond synchronously; a promise per request would cost more than the counting.
        if (!counts.some((each) => each instanceof Promise)) {
          return admit(exchange, wanted, counts as readonly (readonly number[])[]);
        }
        return Promise.all(counts).then((known) => admit(exchange, wanted, known), unreachable);
      },

      responseHeaders(exchange) {
        const usage = usages.get(exchange);
        if (usage === undefined) return;
        // This phase runs again for the response that replaces the service's.
        if (exchange.source === "service") {
          usage.reported = reportedAmounts(exchange.responseHeaderValues(header), names);
          exchange.responseHeaders.apply(removal);
        }
        if (!config.hide_client_headers) setHeaders(exchange, usage, usage.reported ?? NONE);
      },

      responseBody(exchange) {
        const usage = usages.get(exchange);
        const reported = usage?.reported ?? NONE;
        const isOver = usage?.limits.some(
          ({ limit, remaining }) => (reported.get(limit.name) ?? 0) > 0 && remaining.some((left) => left <= 0),
        );
        if (usage === undefined || isOver !== true) return null;
        usage.isReplaced = true;
        return replaced;
      },

      log(exchange) {
        const usage = usages.get(exchange);
        if (usage === undefined || usage.isReplaced || usage.reported === null) return;
        for (const { limit, counters: ofName } of usage.limits) {
          const amount = usage.reported.get(limit.name) ?? 0;
          if (amount === 0) continue;
          const added = counters.addAmount(ofName, amount, options);
          if (added instanceof Promise) {
            added.catch((error: Error) =>
              log.warn("used amounts could not be counted", { reason: error.message }, exchange),
            );
          }
        }
      },
    };
  },
});

/** Longer numbers could make the sum of a counter inexact. */
const AMOUNT = /^\d{1,9}$/;

/**
 * The amount of each limit that the service reports in a header, such as `videos=2, images=1`. Other names and invalid
 * amounts are ignored.
 */
function reportedAmounts(values: readonly string[], names: ReadonlySet<string>): ReadonlyMap<string, number> {
  if (values.length === 0) return NONE;
  const amounts = new Map<string, number>();
  for (const part of values.flatMap((value) => value.split(","))) {
    const [name = "", amount = "", ...others] = part.split("=").map((text) => text.trim());
    if (others.length === 0 && names.has(name) && AMOUNT.test(amount)) amounts.set(name, Number(amount));
  }
  return amounts;
}
