/** `@sluice/plugin-sdk`: everything that a plugin may use. */

export * from "./bodies/body-members.ts";
export * from "./bodies/has-request-body.ts";
export * from "./bodies/json-members.ts";
export * from "./bodies/json-object.ts";
export * from "./bodies/multipart.ts";
export * from "./bodies/pairs.ts";
export * from "./bodies/repeated-names.ts";
export type * from "./connections/raw-connection.ts";
export * from "./credentials/cookie-members.ts";
export * from "./credentials/json-web-token.ts";
export * from "./credentials/keyed-hash.ts";
export type * from "./credentials/plugin-credentials.ts";
export * from "./credentials/sealed-cookie.ts";
export * from "./credentials/session-times.ts";
export * from "./delivery/datagram-queue.ts";
export * from "./delivery/delivery-queue.ts";
export * from "./delivery/endpoint.ts";
export type { DeliveryBatch } from "./delivery/entry-memory.ts";
export * from "./delivery/lua-fields.ts";
export * from "./delivery/queue-settings.ts";
export * from "./delivery/statsd.ts";
export * from "./delivery/stream-sender.ts";
export * from "./delivery/syslog.ts";
export type * from "./exchange/body-filter.ts";
export * from "./exchange/entities.ts";
export * from "./exchange/exchange.ts";
export * from "./exchange/header-edits.ts";
export * from "./exchange/header-name.ts";
export * from "./exchange/header-value.ts";
export type * from "./exchange/held-response.ts";
export * from "./exchange/latencies.ts";
export * from "./exchange/negotiate-coding.ts";
export * from "./exchange/request-path.ts";
export * from "./exchange/shared-names.ts";
export * from "./exchange/unexpected-error.ts";
export * from "./middleware/middleware.ts";
export * from "./plugin.ts";
export * from "./schema/member.ts";
export * from "./schema/node.ts";
export * from "./schema/redis-server.ts";
export * from "./schema/rules.ts";
export type * from "./services/cache.ts";
export type * from "./services/concurrency.ts";
export * from "./services/counters.ts";
export type * from "./services/endpoint.ts";
export type * from "./services/instance.ts";
export type * from "./services/network.ts";
export * from "./services/services.ts";
export * from "./services/windows.ts";
export {
  MAX_RENDERED,
  TemplateError,
  type TemplateScope,
  type TemplateTable,
  type TemplateValue,
} from "./templates/expression.ts";
export * from "./templates/template.ts";
export * from "./tools/address-list.ts";
export * from "./tools/authentication.ts";
export * from "./tools/config-entries.ts";
export * from "./tools/configured-header.ts";
export * from "./tools/exchange-values.ts";
export * from "./tools/identify.ts";
export * from "./tools/limit-by.ts";
export * from "./tools/lru-cache.ts";
export * from "./tools/regex.ts";
export * from "./tools/string-cache.ts";
export * from "./tracing/extract.ts";
export * from "./tracing/http-attributes.ts";
export * from "./tracing/inject.ts";
export * from "./tracing/propagation.ts";
export * from "./tracing/trace-context.ts";
export * from "./tracing/trace-parent.ts";
export { sdkVersion } from "./version.ts";
export type * from "./violation.ts";
