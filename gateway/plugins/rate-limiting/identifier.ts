/** The identifier by which requests are counted (`limit_by`). */
import { hash } from "node:crypto";
import { counterScope, type Exchange, lowerCase, type PluginScope, StringCache } from "@sluice/plugin-sdk";
import type { RateLimitingConfig } from "./schema.ts";

/**
 * Maximum characters of an identifier. A longer one (a header's value) is replaced by its SHA-256, so that a client
 * cannot make the gateway store long texts.
 */
const MAX_IDENTIFIER = 128;

type LimitBy = RateLimitingConfig["limit_by"];

/** The identifier of a request; undefined or empty if it has none. */
type Identify = (exchange: Exchange) => string | null | undefined;

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

/** Maximum counter names in one generation of each cache. A cache has two generations. */
const REMEMBERED = 256;

/**
 * Returns a function that names the counters of a request: the plugin's scope and `<limit_by>=<identifier>`, or
 * `ip=<client's address>` if the request has no identifier.
 */
export function counterNames(config: RateLimitingConfig, scope: PluginScope): (exchange: Exchange) => string {
  const prefix = counterScope(scope);
  const ofIdentifiers = new StringCache(
    (identifier) => `${prefix}:${config.limit_by}=${bounded(identifier)}`,
    REMEMBERED,
  );
  const ofAddresses = new StringCache((address) => `${prefix}:ip=${address}`, REMEMBERED);
  const identifierOf = identifiers[config.limit_by](config);
  return (exchange) => {
    const identifier = identifierOf(exchange);
    return identifier ? ofIdentifiers.of(identifier) : ofAddresses.of(exchange.request.clientAddress);
  };
}

const bounded = (identifier: string): string =>
  identifier.length > MAX_IDENTIFIER ? `sha256:${hash("sha256", identifier)}` : identifier;
