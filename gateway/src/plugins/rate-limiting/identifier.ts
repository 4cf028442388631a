/** Who or what a request is counted for (kong-contract 3.2, limit_by). */
import { hash } from "node:crypto";
import type { RateLimitingConfig } from "@sluice/model";
import type { Exchange } from "../../proxy/exchange.ts";
import type { PluginScope } from "../plugin.ts";

/** A longer identifier (a header's value) is kept as its SHA-256, so that a client does not choose how much we store. */
const MAX_IDENTIFIER = 128;

type LimitBy = RateLimitingConfig["limit_by"];

/** The identifier by limit_by; undefined where the request has none. */
const identifiers: Readonly<
  Record<LimitBy, (exchange: Exchange, config: RateLimitingConfig) => string | null | undefined>
> = {
  consumer: (exchange) => exchange.consumer?.id ?? exchange.credential?.id,
  credential: (exchange) => exchange.credential?.id,
  ip: () => undefined,
  service: (exchange) => exchange.service?.id,
  header: (exchange, config) => (config.header_name === null ? undefined : exchange.request.header(config.header_name)),
  path: (exchange, config) => (exchange.request.path === config.path ? config.path : undefined),
};

/** What the request is counted for, with its kind in front; the client's address where there is nothing better. */
export function identify(exchange: Exchange, config: RateLimitingConfig): string {
  const identifier = identifiers[config.limit_by](exchange, config);
  if (!identifier) return `ip=${exchange.request.clientAddress}`;
  const bounded = identifier.length > MAX_IDENTIFIER ? `sha256:${hash("sha256", identifier)}` : identifier;
  return `${config.limit_by}=${bounded}`;
}

/**
 * The part of a counter's name that comes from where the plugin is attached. Not the plugin's own id: a plugin that
 * is deleted and made again goes on counting.
 */
export function scopeName({ routeId, serviceId, consumerId }: PluginScope): string {
  return `${routeId ?? "-"}:${serviceId ?? "-"}:${consumerId ?? "-"}`;
}
