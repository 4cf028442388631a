/**
 * concurrency-limiting: limits the requests in progress, and the open connections, of each client
 * (docs/reference/kong-compatibility.md#concurrency-limiting).
 */
import {
  addressList,
  counterNames,
  type DirectResponse,
  definePlugin,
  type Exchange,
  ExchangeValues,
  type RawConnection,
} from "@sluice/plugin-sdk";
import { concurrencyLimitingFacts } from "./schema.ts";

export const concurrencyLimiting = definePlugin({
  ...concurrencyLimitingFacts,
  phases(config, { scope, concurrency }) {
    const { limit, error_code: status, error_message: message } = config;
    const { nameOf, nameOfConnection } = counterNames(config, scope);
    const isExempt = addressList(config.exempt);
    const refusal: DirectResponse = { status, message };
    /** The name under which an exchange or a connection holds a slot. */
    const held = new ExchangeValues<string>();

    function acquire(owner: Exchange | RawConnection, name: string): boolean {
      const isAcquired = concurrency.acquire(name, limit);
      if (isAcquired) held.set(owner, name);
      return isAcquired;
    }

    function release(owner: Exchange | RawConnection): void {
      const name = held.get(owner);
      if (name === undefined) return;
      held.delete(owner);
      concurrency.release(name);
    }

    return {
      access(exchange) {
        if (isExempt?.(exchange.request.clientAddress)) return undefined;
        // The client disconnected while an earlier plugin waited: the phase `log` has run and cannot release a slot.
        if (exchange.timings.ended !== undefined) return undefined;
        return acquire(exchange, nameOf(exchange)) ? undefined : refusal;
      },
      log: release,

      connection(connection) {
        if (isExempt?.(connection.clientAddress)) return undefined;
        return acquire(connection, nameOfConnection(connection)) ? undefined : { status, reason: message };
      },
      connectionLog: release,
    };
  },
});
