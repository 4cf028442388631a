/** The request to the authorization server. */
import {
  connectionHeaders,
  type Exchange,
  escapePath,
  foldedName,
  type HttpRequest,
  lowerCase,
} from "@sluice/plugin-sdk";
import { type ForwardAuthConfig, forwardedNames } from "./schema.ts";

type Headers = Record<string, string>;

/**
 * Headers of the client that are sent to the authorization server only if the config names them: those that the server
 * could take for headers of a proxy, and those of conditional and range requests (RFC 9110 sections 13 and 14), which
 * the server would apply to its own resource.
 */
const droppedNames: ReadonlySet<string> = new Set([
  ...["host", "forwarded", "proxy", "via", "x-real-ip", "x-rewrite-url"],
  ...["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"],
]);
const droppedPrefixes: readonly string[] = ["x-forwarded-", "x-original-"];

/** Whether a header is sent only if the config names it. Servers may read `X_Name` as `X-Name`. */
function isDropped(lower: string): boolean {
  const folded = foldedName(lower);
  const isOfProxy = droppedPrefixes.some((prefix) => folded.startsWith(prefix));
  return isOfProxy || droppedNames.has(folded) || connectionHeaders.has(folded);
}

/** The names of the client's headers, without dropped ones and those listed in Connection (RFC 9110 section 7.6.1). */
function namesOf({ request }: Exchange): ReadonlySet<string> {
  const ofConnection = new Set(
    (request.header("connection") ?? "").split(",").map((name) => name.trim().toLowerCase()),
  );
  const names = request.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  return new Set(names.filter((name) => !isDropped(name) && !ofConnection.has(name)));
}

/**
 * The headers of the client that the authorization server receives, with the values that the upstream would receive:
 * without forged identity headers, and without credentials that other plugins have removed.
 */
function clientHeaders(exchange: Exchange, { auth_request_headers: chosen }: ForwardAuthConfig): Headers {
  const headers: Headers = {};
  for (const name of chosen.length > 0 ? chosen : namesOf(exchange)) {
    const lower = lowerCase(name);
    const values = exchange.upstreamHeaderValues(lower);
    if (values.length > 0) headers[name] = values.join(lower === "cookie" ? "; " : ", ");
  }
  return headers;
}

/**
 * The headers by which the plugin describes the request. X-Forwarded-Uri has the path on which routes match, so that
 * the server decides about the path that was routed.
 */
function forwardedHeaders({ request }: Exchange): Headers {
  const { method, scheme, host, path, query, clientAddress } = request;
  const values = [method, scheme, host, escapePath(path) + query, clientAddress];
  return Object.fromEntries(forwardedNames.map((name, index) => [name, values[index] ?? ""]));
}

/** The request to the server, without a body. */
export function authRequestOf(exchange: Exchange, config: ForwardAuthConfig): HttpRequest {
  return {
    method: config.preserve_request_method ? exchange.request.method : "GET",
    url: config.address,
    headers: { ...clientHeaders(exchange, config), ...forwardedHeaders(exchange) },
    timeout: config.timeout,
    keepAlive: config.keepalive,
    verify: config.ssl_verify,
  };
}
