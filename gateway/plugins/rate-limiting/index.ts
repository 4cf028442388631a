/** rate-limiting: limits the requests of each period (docs/reference/kong-compatibility.md#rate-limiting). */

import {
  type Counter,
  counterScope,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type Taken,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { setRateLimitHeaders } from "./headers.ts";
import { counterNames } from "./identifier.ts";
import { limitsOf } from "./limits.ts";
import { rateLimitingFacts } from "./schema.ts";

export const rateLimiting = definePlugin({
  ...rateLimitingFacts,
  phases(config, { scope, counters, now }) {
    const limits = limitsOf(config);
    const nameOf = counterNames(config, scope);
    const scopeName = counterScope(scope);

    function countersOf(exchange: Exchange, at: number): readonly Counter[] {
      const name = nameOf(exchange);
      return limits.map((limit) => {
        const { start, end } = limit.window(at);
        return { name, scope: scopeName, period: limit.period, limit: limit.limit, windowStart: start, expires: end };
      });
    }

    function decide(exchange: Exchange, { admitted, counts }: Taken, at: number): DirectResponse | undefined {
      const headers = config.hide_client_headers ? null : exchange.responseHeaders;
      const reset = setRateLimitHeaders(headers, { limits, counts, now: at });
      if (admitted) return undefined;
      return {
        status: config.error_code,
        message: config.error_message,
        ...(config.hide_client_headers ? {} : { headers: { "Retry-After": String(reset) } }),
      };
    }

    const unreachable = (error: unknown): DirectResponse | undefined =>
      config.fault_tolerant ? undefined : unexpectedError(`rate-limiting: ${(error as Error).message}`);

    return {
      access(exchange) {
        const at = now();
        // Local counters respond synchronously; a promise per request would cost more than the counting.
        const taken = counters.take(countersOf(exchange, at), config);
        return taken instanceof Promise
          ? taken.then((counted) => decide(exchange, counted, at), unreachable)
          : decide(exchange, taken, at);
      },
    };
  },
});
