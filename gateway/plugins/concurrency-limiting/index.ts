/**
 * concurrency-limiting: limits the requests in progress of each client
 * (docs/reference/kong-compatibility.md#concurrency-limiting).
 */
import { addressList, counterNames, type DirectResponse, definePlugin, type Exchange } from "@sluice/plugin-sdk";
import { concurrencyLimitingFacts } from "./schema.ts";

export const concurrencyLimiting = definePlugin({
  ...concurrencyLimitingFacts,
  phases(config, { scope, concurrency }) {
    const { limit, error_code: status, error_message: message } = config;
    const { nameOf } = counterNames(config, scope);
    const isExempt = addressList(config.exempt);
    const refusal: DirectResponse = { status, message };
    /** The name under which an exchange holds a slot. */
    const held = new WeakMap<Exchange, string>();
    return {
      access(exchange) {
        if (isExempt?.(exchange.request.clientAddress)) return undefined;
        // The client disconnected while an earlier plugin waited: the phase `log` has run and cannot release a slot.
        if (exchange.timings.ended !== undefined) return undefined;
        const name = nameOf(exchange);
        if (!concurrency.acquire(name, limit)) return refusal;
        held.set(exchange, name);
        return undefined;
      },

      log(exchange) {
        const name = held.get(exchange);
        if (name === undefined) return;
        held.delete(exchange);
        concurrency.release(name);
      },
    };
  },
});
