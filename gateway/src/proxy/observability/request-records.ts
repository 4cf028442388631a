/**
 * Records of requests, for the access log and for the list of recent requests. They contain no body, no API keys from
 * the query, and no header values except User-Agent, the trace id, and the client's address that a trusted proxy
 * reports.
 */
import { type EntityName, hostAndPort } from "@sluice/model/serving";
import { traceIdOf } from "@sluice/plugin-sdk";
import type { StreamSession } from "../../metrics/event-metrics.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { StreamRecord } from "../streams/stream-record.ts";
import type { RejectedRequest } from "./observer.ts";

/** Formats the path, and the query if configured, for the log. */
export type PathFormatter = (request: { readonly path: string; readonly query: string }) => string;

/** Leaves out the query: this is the default, because people who may not see queries can often read log files. */
export const withoutQuery: PathFormatter = ({ path }) => path;

/**
 * Maximum characters of a path. A line must fit into one atomic write to a pipe (4096 bytes), else lines of several
 * threads could mix.
 */
const LONGEST_PATH = 1024;
/** Maximum characters of a User-Agent, limited because a line must fit into one write. */
const LONGEST_AGENT = 256;
/** Maximum characters of a host. */
const LONGEST_HOST = 255;
const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

/** Latencies are in milliseconds, to the microsecond; `gateway` and `upstream` are `kong` and `proxy` in Kong. */
export function exchangeRecord(exchange: LiveExchange, tellPath: PathFormatter) {
  const { request, route, service, consumer, target, timings } = exchange;
  const { started, forwarded, answered, ended = started } = timings;
  return {
    request_id: exchange.id,
    client: request.clientAddress,
    method: request.method,
    path: cut(tellPath(request), LONGEST_PATH),
    status: exchange.status,
    grpc_status: exchange.grpcStatus ?? undefined,
    source: exchange.source,
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    latencies: {
      request: rounded(ended - started),
      gateway: rounded((forwarded ?? ended) - started),
      ...(forwarded !== undefined && answered !== undefined && { upstream: rounded(answered - forwarded) }),
    },
    route: route.name ?? route.id,
    service: service === null ? undefined : (service.name ?? service.host),
    consumer: consumer === null ? undefined : (consumer.username ?? consumer.custom_id ?? consumer.id),
    plugin: pluginOf(exchange)?.name,
    // Of the last attempt.
    target: target === null ? undefined : hostAndPort(target),
    tries: exchange.tries,
    user_agent: agentOf(request),
    tls: request.head.peer.tlsVersion ?? undefined,
    trace_id: exchange.traceId ?? traceIdOf(request.header("traceparent")),
  };
}

/** The query is never logged: a request that matched no route may hold a key under any name. */
export function refusalRecord({ id, status, request, peerAddress, duration }: RejectedRequest) {
  return {
    request_id: id,
    client: request?.clientAddress ?? (peerAddress || undefined),
    method: request?.method,
    path: request === null ? undefined : cut(request.path, LONGEST_PATH),
    status,
    source: "gateway",
    latencies: { request: rounded(duration) },
    user_agent: request === null ? undefined : agentOf(request),
    tls: request?.head.peer.tlsVersion ?? undefined,
    trace_id: request === null ? undefined : traceIdOf(request.header("traceparent")),
  };
}

/** A connection that is not HTTP as metrics count it. */
export const streamSessionOf = ({ route, service, fault, status, bytesIn, bytesOut }: StreamRecord): StreamSession => ({
  service: service === null ? "" : (service.name ?? service.host),
  route: route === null ? "" : (route.name ?? route.id),
  code: status,
  source: fault === null ? "service" : "gateway",
  bytesIn,
  bytesOut,
});

export function streamRecord(stream: StreamRecord) {
  const { target, connected } = stream;
  const { service, route, code, source } = streamSessionOf(stream);
  return {
    request_id: stream.id,
    client: stream.peerAddress || undefined,
    protocol: stream.protocol,
    server_name: stream.serverName === null ? undefined : cut(stream.serverName, LONGEST_HOST),
    status: code,
    source,
    bytes_in: stream.bytesIn,
    bytes_out: stream.bytesOut,
    latencies: {
      request: rounded(stream.duration),
      ...(connected !== null && { gateway: rounded(connected) }),
    },
    route: route || undefined,
    service: service || undefined,
    target: target === null ? undefined : hostAndPort(target),
    tries: stream.attempts.length,
  };
}

/** The host, cut to a length that bounds the memory of lists. */
export const boundedHost = ({ host }: { readonly host: string }): string => cut(host, LONGEST_HOST);

function agentOf(request: { header(name: string): string | undefined }): string | undefined {
  const agent = request.header("user-agent");
  return agent === undefined ? undefined : cut(agent, LONGEST_AGENT);
}

/** The plugin that answered the request or failed; null: none did. */
export function pluginOf(exchange: LiveExchange): EntityName | null {
  const id = pluginIdOf(exchange);
  return id === null ? null : { id, name: exchange.runtime.snapshot.plugins.get(id)?.name ?? null };
}

export const pluginIdOf = ({ currentStep, source, isAbandoned }: LiveExchange): string | null =>
  source === "gateway" && !isAbandoned && currentStep !== null ? currentStep.id : null;

/** Whether the gateway itself answered with an error. A client that disconnected has not been answered. */
export const isRefused = ({ source, status, isAbandoned }: LiveExchange): boolean =>
  source === "gateway" && status >= FIRST_ERROR && !isAbandoned;

/** Whether the service answered with a server error, which was forwarded. */
export const isFailed = ({ source, status, isAbandoned }: LiveExchange): boolean =>
  source === "service" && status >= FIRST_SERVER_ERROR && !isAbandoned;

/** When the response began, by the clock of `timings`; the end of the request if it did not begin. */
export function responseStart({ timings, responseBegan, isAbandoned }: LiveExchange): number {
  const { started, answered, ended = started } = timings;
  return isAbandoned ? ended : (responseBegan ?? answered ?? ended);
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text);

const rounded = (milliseconds: number): number => Math.max(0, Math.round(milliseconds * 1000) / 1000);
