/**
 * Names and attributes of spans by OpenTelemetry's semantic conventions for HTTP (1.23 and later) and for GraphQL. They
 * contain no query, and no headers except Host, User-Agent, and those in which a trusted proxy reports the client's
 * address.
 */
import type { Exchange } from "../exchange/exchange.ts";
import { DOCUMENT_HASH, OPERATION_NAME, OPERATION_TYPE } from "../exchange/shared-names.ts";

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/**
 * Methods that the conventions name. All others are replaced in the names of spans and in `http.request.method`,
 * because clients could otherwise create arbitrary names and values.
 */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"],
]);
const OTHER = "_OTHER";
/** Replaces all other methods in span names. */
const OTHER_IN_NAME = "HTTP";

/** The method as the name of a client span, and as part of the name of a server span. */
export const httpMethodInName = (method: string): string => (METHODS.has(method) ? method : OTHER_IN_NAME);

export const serverSpanName = ({ request, route }: Pick<Exchange, "request" | "route">): string =>
  `${httpMethodInName(request.method)} ${route.name ?? route.id}`;

export const httpMethodAttributes = (method: string): SpanAttributes =>
  METHODS.has(method)
    ? { "http.request.method": method }
    : { "http.request.method": OTHER, "http.request.method_original": method };

export function serverSpanAttributes({
  id,
  request,
  route,
  service,
}: Pick<Exchange, "id" | "request" | "route" | "service">): SpanAttributes {
  const { host, port } = splitHost(request.host);
  return {
    ...httpMethodAttributes(request.method),
    "url.scheme": request.scheme,
    "url.path": request.path,
    "server.address": host,
    "server.port": port ?? request.connection.port,
    "client.address": request.clientAddress,
    "network.protocol.version": request.httpVersion,
    "user_agent.original": request.header("user-agent"),
    "sluice.request_id": id,
    "sluice.route": route.name ?? route.id,
    "sluice.service": service?.name ?? service?.host,
  };
}

/**
 * The attributes of the operation that the plugin graphql has found. The names of spans do not have it: in an early
 * version of the conventions they did, and clients could create arbitrary names. The hash is Sluice's own attribute.
 */
export function operationSpanAttributes({ shared }: Pick<Exchange, "shared">): SpanAttributes {
  const type = shared.get(OPERATION_TYPE);
  if (typeof type !== "string") return {};
  const [name, hash] = [shared.get(OPERATION_NAME), shared.get(DOCUMENT_HASH)];
  return {
    "graphql.operation.type": type,
    // A name in parentheses stands for several names, or for none.
    ...(typeof name === "string" && !name.startsWith("(") && { "graphql.operation.name": name }),
    ...(typeof hash === "string" && { "graphql.document.hash": hash }),
  };
}

function splitHost(host: string): { readonly host: string; readonly port: number | undefined } {
  const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return { host: name.replace(/^\[|\]$/g, ""), port: port === undefined ? undefined : Number(port) };
}
