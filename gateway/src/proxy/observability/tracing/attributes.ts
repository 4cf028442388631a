/**
 * Span attributes by OpenTelemetry's semantic conventions for HTTP (1.23 and later). They contain no query, and no
 * headers except Host, User-Agent, and the client's address that a trusted proxy reports.
 */
import type { Attributes } from "@opentelemetry/api";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";

/** Methods of the conventions: clients must not be able to create arbitrary values. */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"],
]);
const OTHER = "_OTHER";
/** Replaces all other methods in span names. */
const OTHER_IN_NAME = "HTTP";

export const spanName = ({ request, route }: LiveExchange): string =>
  `${METHODS.has(request.method) ? request.method : OTHER_IN_NAME} ${route.name ?? route.id}`;

export function serverAttributes({ id, request, route, service }: LiveExchange): Attributes {
  const { host, port } = splitHost(request.host);
  return {
    ...methodAttributes(request.method),
    "url.scheme": request.scheme,
    "url.path": request.path,
    "server.address": host,
    "server.port": port ?? request.head.peer.port,
    "client.address": request.clientAddress,
    "network.peer.address": request.peerAddress,
    "network.protocol.version": request.head.httpVersion,
    "user_agent.original": request.header("user-agent"),
    "sluice.request_id": id,
    "sluice.route": route.name ?? route.id,
    "sluice.service": service?.name ?? service?.host,
  };
}

export const clientName = ({ method }: ForwardPlan): string => (METHODS.has(method) ? method : OTHER_IN_NAME);

export function clientAttributes({ target, tries }: LiveExchange, { method, path }: ForwardPlan): Attributes {
  if (target === null) return {};
  const [plainPath = ""] = path.split("?", 1);
  const host = target.host.includes(":") ? `[${target.host}]` : target.host;
  return {
    ...methodAttributes(method),
    "server.address": target.host,
    "server.port": target.port,
    "url.full": `${target.scheme}://${host}:${target.port}${plainPath}`,
    ...(tries > 1 && { "http.request.resend_count": tries - 1 }),
  };
}

const methodAttributes = (method: string): Attributes =>
  METHODS.has(method)
    ? { "http.request.method": method }
    : { "http.request.method": OTHER, "http.request.method_original": method };

function splitHost(host: string): { readonly host: string; readonly port: number | undefined } {
  const [, name = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return { host: name.replace(/^\[|\]$/g, ""), port: port === undefined ? undefined : Number(port) };
}
