/**
 * cors: allows origins to read responses (Fetch standard, CORS protocol; docs/reference/kong-compatibility.md#cors).
 */

import {
  definePlugin,
  type Exchange,
  type HeaderEdits,
  headerValue,
  removeHeaderEdit,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import { type OriginRule, originRule } from "./origins.ts";
import { type CorsConfig, corsFacts } from "./schema.ts";

const originOf = ({ request }: Exchange) => request.header("origin") || undefined;

const isPreflight = (exchange: Exchange) =>
  exchange.request.method === "OPTIONS" &&
  originOf(exchange) !== undefined &&
  exchange.request.header("access-control-request-method") !== undefined;

const ALLOW_ORIGIN = "Access-Control-Allow-Origin";
const allowAnyOrigin = setHeaderEdit(ALLOW_ORIGIN, "*");
const removeAllowOrigin = removeHeaderEdit(ALLOW_ORIGIN);
const withCredentials = setHeaderEdit("Access-Control-Allow-Credentials", "true");

/** Sets Access-Control-Allow-Origin, Access-Control-Allow-Credentials and Vary, even in responses to preflights. */
function allowOrigin(
  headers: HeaderEdits,
  origin: string | undefined,
  { rule, credentials, absent }: OriginOptions,
): void {
  const allowed = rule(origin);
  const isOpen = allowed.kind === "all";
  // With credentials, browsers ignore `*` (Fetch 3.2.5): the request's origin is named instead.
  const named = isOpen && credentials && origin !== undefined;
  if (named) headers.set(ALLOW_ORIGIN, origin);
  else if (isOpen) headers.apply(allowAnyOrigin);
  else if (allowed.kind === "one") headers.set(ALLOW_ORIGIN, headerValue(allowed.origin));
  else headers.apply(removeAllowOrigin);
  // A cache must not serve the response for one origin, or for a request without an origin, to another origin.
  if (!isOpen || allowed.vary || credentials || !absent) headers.append("Vary", "Origin");
  if (credentials && (!isOpen || named)) headers.apply(withCredentials);
}

interface OriginOptions {
  readonly rule: OriginRule;
  readonly credentials: boolean;
  /** `allow_origin_absent`: whether the response to a request without an origin has CORS headers too. */
  readonly absent: boolean;
}

function answerPreflight({ request, responseHeaders: headers }: Exchange, config: CorsConfig): void {
  const asked = request.header("access-control-request-headers");
  if (config.headers !== null && config.headers.length > 0) {
    headers.set("Access-Control-Allow-Headers", headerValue(config.headers.join(",")));
  } else if (asked !== undefined) {
    headers.set("Access-Control-Allow-Headers", asked);
  }
  // The literal * would not count in requests with credentials (Fetch, CORS protocol and credentials).
  const method = config.methods.includes("*") ? request.header("access-control-request-method") : undefined;
  headers.set("Access-Control-Allow-Methods", method ?? config.methods.join(","));
  if (config.max_age !== null) headers.set("Access-Control-Max-Age", String(config.max_age));
  if (config.private_network && request.header("access-control-request-private-network") === "true") {
    headers.set("Access-Control-Allow-Private-Network", "true");
  }
}

export const cors = definePlugin({
  ...corsFacts,
  phases(config) {
    const options = {
      rule: originRule(config.origins),
      credentials: config.credentials,
      absent: config.allow_origin_absent,
    };
    const exposed =
      config.exposed_headers === null || config.exposed_headers.length === 0
        ? null
        : setHeaderEdit("Access-Control-Expose-Headers", headerValue(config.exposed_headers.join(",")));
    return {
      access(exchange) {
        if (config.preflight_continue || !isPreflight(exchange)) return undefined;
        allowOrigin(exchange.responseHeaders, originOf(exchange), options);
        answerPreflight(exchange, config);
        // Browsers read it in the actual response only; the Gateway API wants it here too.
        if (exposed !== null) exchange.responseHeaders.apply(exposed);
        return { status: 200, body: "" };
      },
      responseHeaders(exchange) {
        // A preflight has been answered already, or is left to the upstream (preflight_continue).
        if (isPreflight(exchange)) return;
        const origin = originOf(exchange);
        if (origin === undefined && !config.allow_origin_absent) {
          exchange.responseHeaders.append("Vary", "Origin");
          return;
        }
        allowOrigin(exchange.responseHeaders, origin, options);
        if (exposed !== null) exchange.responseHeaders.apply(exposed);
      },
    };
  },
});
