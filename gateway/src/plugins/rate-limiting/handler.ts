/** rate-limiting: so many requests a period (kong-contract 3.2). */
import { periods, type RateLimitingConfig } from "@sluice/model";
import type { Answer, Exchange } from "../../proxy/exchange.ts";
import type { PluginHandler } from "../plugin.ts";
import type { Counter, Taken } from "./counters.ts";
import { limitHeaders } from "./headers.ts";
import { identify, scopeName } from "./identifier.ts";
import { windowOf } from "./windows.ts";

const limitsOf = (config: RateLimitingConfig) =>
  periods.flatMap((period) => {
    const limit = config[period];
    return limit === null ? [] : [{ period, limit }];
  });

export const rateLimiting: PluginHandler<"rate-limiting"> = (config, scope, { counters, now }) => {
  const limits = limitsOf(config);
  const prefix = scopeName(scope);

  function countersOf(exchange: Exchange, at: number): readonly Counter[] {
    const name = `${prefix}:${identify(exchange, config)}`;
    return limits.map(({ period, limit }) => {
      const { start, end } = windowOf(period, at);
      return { name, period, limit, windowStart: start, expires: end };
    });
  }

  return {
    access(exchange) {
      const at = now();
      const wanted = countersOf(exchange, at);

      const decide = ({ admitted, counts }: Taken): Answer | undefined => {
        const { headers, reset } = limitHeaders(wanted, { counts, now: at });
        if (!config.hide_client_headers) {
          for (const [name, value] of headers) exchange.responseHeaders.set(name, value);
        }
        if (admitted) return undefined;
        return {
          status: config.error_code,
          message: config.error_message,
          ...(config.hide_client_headers ? {} : { headers: { "Retry-After": String(reset) } }),
        };
      };

      const unreachable = (): Answer | undefined =>
        config.fault_tolerant ? undefined : { status: 500, message: "An unexpected error occurred" };

      // The local counters answer at once; a promise for every request would cost more than the count itself.
      const taken = counters.take(wanted, config);
      return taken instanceof Promise ? taken.then(decide, unreachable) : decide(taken);
    },
  };
};
