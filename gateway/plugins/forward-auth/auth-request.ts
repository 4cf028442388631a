/** The request to the authorization server. */
import {
  connectionHeaders,
  type Exchange,
  escapePath,
  foldedName,
  type HttpRequest,
  headerValue,
  lowerCase,
} from "@sluice/plugin-sdk";
import { type ForwardAuthConfig, ownNames } from "./schema.ts";
import { clientHostOf, isHost, isHostDependent, requestUriOf, withVariables } from "./variables.ts";

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
 *
 * @param own Folded names of headers that the gateway itself sets.
 */
function clientHeaders(exchange: Exchange, chosen: readonly string[], own: ReadonlySet<string>): Headers {
  const headers: Headers = {};
  for (const name of chosen.length > 0 ? chosen : namesOf(exchange)) {
    const lower = lowerCase(name);
    const values = own.has(foldedName(lower)) ? [] : exchange.upstreamHeaderValues(lower);
    if (values.length > 0) headers[name] = values.join(lower === "cookie" ? "; " : ", ");
  }
  return headers;
}

/**
 * The headers by which the plugin describes the request, as in Traefik. X-Forwarded-Uri has the path on which routes
 * match, so that the server decides about the path that was routed.
 */
function traefikHeaders({ request }: Exchange): Headers {
  const { method, scheme, host, path, query, clientAddress } = request;
  const values = [method, scheme, host, escapePath(path) + query, clientAddress];
  return Object.fromEntries(ownNames.traefik.map((name, index) => [name, values[index] ?? ""]));
}

/** The headers by which ingress-nginx describes the request (template nginx.tmpl, location of auth-url). */
function nginxHeaders(exchange: Exchange): Headers {
  const { method, scheme, host, clientAddress } = exchange.request;
  const uri = requestUriOf(exchange);
  const id = exchange.request.header("x-request-id") ?? exchange.id;
  const values = [
    `${scheme}://${host}${uri}`,
    method,
    uri,
    "nginx-ingress-controller",
    clientAddress,
    clientAddress,
    id,
  ];
  return Object.fromEntries(ownNames.nginx.map((name, index) => [name, values[index] ?? ""]));
}

/** Thrown if the request has no address to which it may be sent. The message is logged. */
export class AddressError extends Error {
  override readonly name = "AddressError";
}

/** The address with the values of the request. Throws AddressError. */
function addressOf(exchange: Exchange, address: string): string {
  if (isHostDependent(address)) {
    const { hosts } = exchange.route;
    const isOpen = hosts === null || hosts.length === 0 || hosts.some((host) => host.endsWith("*"));
    if (isOpen)
      throw new AddressError("address contains $host, so the route needs hosts, without a wildcard at the end");
    if (!isHost(clientHostOf(exchange))) throw new AddressError("the client's Host is not the name of a host");
  }
  return withVariables(address, exchange);
}

/** Returns a function that creates the request to the server, without a body. It throws AddressError. */
export function authRequests(config: ForwardAuthConfig): (exchange: Exchange) => HttpRequest {
  const { request_style: style, auth_request_headers: chosen, request_method: method } = config;
  const isNginx = style === "nginx";
  const describe = isNginx ? nginxHeaders : traefikHeaders;
  const extra = Object.entries(config.extra_request_headers ?? {});
  const replacedNames = new Set(extra.map(([name]) => foldedName(lowerCase(name))));
  const own = new Set([...ownNames[style].map((name) => foldedName(lowerCase(name))), ...replacedNames]);
  const described = (exchange: Exchange): Headers => {
    const headers = describe(exchange);
    if (extra.length === 0) return headers;
    const kept = Object.entries(headers).filter(([name]) => !replacedNames.has(foldedName(lowerCase(name))));
    const added = extra.map(([name, value]) => [
      name,
      isNginx ? withVariables(headerValue(value), exchange) : headerValue(value),
    ]);
    return Object.fromEntries([...kept, ...added]);
  };
  return (exchange) => ({
    method: method ?? (config.preserve_request_method ? exchange.request.method : "GET"),
    url: isNginx ? addressOf(exchange, config.address) : config.address,
    headers: { ...clientHeaders(exchange, chosen, own), ...described(exchange) },
    timeout: config.timeout,
    keepAlive: config.keepalive,
    verify: config.ssl_verify,
  });
}
