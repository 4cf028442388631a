/** The identifier that a request is counted for (`limit_by`). */
import { hash } from "node:crypto";
import type { RateLimitingConfig } from "@sluice/model";
import type { Exchange } from "../../proxy/exchange/exchange.ts";
import { lowerCase } from "../../proxy/headers/header-name.ts";
import type { PluginScope } from "../plugin.ts";
import { Recent } from "../recent.ts";

/** A longer identifier (a header's value) is kept as its SHA-256, so that a client does not choose how much we store. */
const MAX_IDENTIFIER = 128;

type LimitBy = RateLimitingConfig["limit_by"];

/** The identifier of a request; undefined or empty where it has none. */
type Identify = (exchange: Exchange) => string | null | undefined;

/** By limit_by. */
const identifiers: Readonly<Record<LimitBy, (config: RateLimitingConfig) => Identify>> = {
  consumer: () => (exchange) => exchange.consumer?.id ?? exchange.credential?.id,
  credential: () => (exchange) => exchange.credential?.id,
  ip: () => () => undefined,
  service: () => (exchange) => exchange.service?.id,
  header: ({ header_name }) => {
    if (header_name === null) return () => undefined;
    const name = lowerCase(header_name);
    return (exchange) => exchange.request.header(name);
  },
  path:
    ({ path }) =>
    (exchange) =>
      exchange.request.path === path ? path : undefined,
};

/** Of so many clients, twice, a plugin remembers the counters' names. */
const REMEMBERED = 256;

/**
 * The names of a plugin's counters: what it is attached to, and what the request is counted for with its kind in front;
 * the client's address where there is nothing better.
 */
export function counterNames(config: RateLimitingConfig, scope: PluginScope): (exchange: Exchange) => string {
  const prefix = instanceName(scope);
  const ofIdentifiers = new Recent((identifier) => `${prefix}:${config.limit_by}=${bounded(identifier)}`, REMEMBERED);
  const ofAddresses = new Recent((address) => `${prefix}:ip=${address}`, REMEMBERED);
  const identifierOf = identifiers[config.limit_by](config);
  return (exchange) => {
    const identifier = identifierOf(exchange);
    return identifier ? ofIdentifiers.of(identifier) : ofAddresses.of(exchange.request.clientAddress);
  };
}

const bounded = (identifier: string): string =>
  identifier.length > MAX_IDENTIFIER ? `sha256:${hash("sha256", identifier)}` : identifier;

/**
 * The part of a counter's name that comes from where the plugin is attached. Not the plugin's own id: a plugin that
 * is deleted and made again goes on counting.
 */
export function instanceName({ routeId, serviceId, consumerId }: PluginScope): string {
  return `${routeId ?? "-"}:${serviceId ?? "-"}:${consumerId ?? "-"}`;
}
