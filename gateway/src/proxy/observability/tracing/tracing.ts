/**
 * Tracing: each sampled request has a server span, and a client span for each of its attempts at an upstream. The
 * upstream receives the id of the client span in `traceparent`. This module, and with it OpenTelemetry's SDK, is loaded
 * only if tracing is enabled.
 */

import { getCACertificates } from "node:tls";
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, BatchSpanProcessor, RandomIdGenerator, TracerProvider } from "@opentelemetry/sdk-trace";
import { hostAndPort } from "@sluice/model/serving";
import {
  ExchangeValues,
  formatTraceParent,
  httpMethodAttributes,
  httpMethodInName,
  operationSpanAttributes,
  parseTraceParent,
  serverSpanAttributes,
  serverSpanName,
  type TraceParent,
} from "@sluice/plugin-sdk";
import type { ProxyLog } from "../../engine.ts";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";
import { isServerFault } from "../../exchange/protocols.ts";
import { errorCodeOf } from "../../upstream/failure.ts";
import type { RequestObserver } from "../observer.ts";

export interface TracingPlan {
  /**
   * Sampled fraction, from 0 to 1, of requests without a valid `traceparent`. For other requests, the sender decides.
   */
  readonly sampling: number;
  /** URL for the export of spans. */
  readonly url: string;
  /** PEM certificates of CAs that are trusted for this URL in addition to Node's default CAs. */
  readonly authorities: readonly string[];
  readonly node: string;
  readonly version: string;
}

interface Spans {
  readonly server: Span;
  readonly context: Context;
  /** Span of the current attempt; null: no attempt is under way. */
  client: Span | null;
}

const PARENT = "traceparent";
const STATE = "tracestate";
/** Milliseconds within which an export must complete. */
const EXPORT_TIMEOUT = 5000;
const LONGEST_ATTRIBUTE = 1024;
const LONGEST_REASON = 300;
const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

/** OpenTelemetry's environment variables set more options: OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and others. */
export function openTracing(
  { sampling, url, authorities, node, version }: TracingPlan,
  log: ProxyLog,
): RequestObserver {
  // The reason is cut, because the SDK reports errors as JSON with stack traces.
  const tell = (message: unknown) => log.warn({ reason: String(message).slice(0, LONGEST_REASON) }, "traces are lost");
  const ignore = () => undefined;
  const logger = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const ids = new RandomIdGenerator();
  const own = { "service.name": "sluice", "service.version": version, "service.instance.id": node };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    // `parentOf` makes the sampling decision: unsampled requests start no span.
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: LONGEST_ATTRIBUTE },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url,
          timeoutMillis: EXPORT_TIMEOUT,
          // Without authorities, OTEL_EXPORTER_OTLP_CERTIFICATE applies.
          ...(authorities.length > 0 && {
            httpAgentOptions: { keepAlive: true, ca: [...getCACertificates("default"), ...authorities] },
          }),
        }),
        exportTimeoutMillis: EXPORT_TIMEOUT,
      }),
    ],
  });
  const tracer = provider.getTracer("sluice", version);
  const running = new ExchangeValues<Spans>();

  /**
   * Decides whether a request is sampled, and sets its trace id and headers accordingly. Returns the context of the
   * sender's span, or the empty context, with which a new trace begins; null for an unsampled request.
   */
  function parentOf(exchange: LiveExchange): Context | null {
    const header = exchange.request.header(PARENT);
    const parent = header === undefined ? null : parseTraceParent(header);
    if (parent !== null) {
      exchange.traceId = parent.traceId;
      return parent.sampled ? contextOf(parent) : null;
    }
    // Without a valid traceparent the tracestate must not be forwarded.
    exchange.upstreamHeaders.remove(STATE);
    if (exchange.debugTimings !== null || Math.random() < sampling) return ROOT_CONTEXT;
    const begun = { traceId: ids.generateTraceId(), spanId: ids.generateSpanId(), sampled: false };
    exchange.traceId = begun.traceId;
    exchange.upstreamHeaders.set(PARENT, formatTraceParent(begun));
    return null;
  }

  return {
    opened(exchange) {
      const parent = parentOf(exchange);
      if (parent === null) return;
      const { started: startTime } = exchange.timings;
      const attributes = serverAttributes(exchange);
      const server = tracer.startSpan(
        serverSpanName(exchange),
        { kind: SpanKind.SERVER, startTime, attributes },
        parent,
      );
      exchange.traceId = server.spanContext().traceId;
      running.set(exchange, { server, context: trace.setSpan(ROOT_CONTEXT, server), client: null });
    },

    tried(exchange, forward) {
      const spans = running.get(exchange);
      if (spans === undefined) return;
      spans.client?.end();
      const { forwarded: startTime } = exchange.timings;
      const attributes = clientAttributes(exchange, forward);
      spans.client = tracer.startSpan(
        httpMethodInName(forward.method),
        { kind: SpanKind.CLIENT, startTime, attributes },
        spans.context,
      );
      const { traceId, spanId } = spans.client.spanContext();
      exchange.upstreamHeaders.set(PARENT, formatTraceParent({ traceId, spanId, sampled: true }));
    },

    failed(exchange, error) {
      const spans = running.get(exchange);
      if (spans === undefined || spans.client === null) return;
      spans.client.setAttribute("error.type", errorCodeOf(error) || "_OTHER").setStatus({ code: SpanStatusCode.ERROR });
      spans.client.end();
      spans.client = null;
    },

    finished(exchange) {
      const spans = running.get(exchange);
      if (spans === undefined) return;
      running.delete(exchange);
      const { status, grpcStatus, source, timings } = exchange;
      if (source === "service" && spans.client !== null) {
        settle(spans.client, status, FIRST_ERROR);
        settleCall(spans.client, grpcStatus, (code) => code !== 0);
      }
      spans.client?.end(timings.ended);
      spans.server.setAttributes(operationSpanAttributes(exchange));
      settle(spans.server, status, FIRST_SERVER_ERROR);
      settleCall(spans.server, grpcStatus, isServerFault);
      spans.server.end(timings.ended);
    },

    /** Spans that cannot be exported in time are lost. */
    close: () => provider.shutdown().catch(tell),
  };
}

const contextOf = ({ traceId, spanId }: TraceParent): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });

function settle(span: Span, status: number, firstError: number): void {
  span.setAttribute("http.response.status_code", status);
  if (status < firstError) return;
  span.setAttribute("error.type", String(status)).setStatus({ code: SpanStatusCode.ERROR });
}

/** @param status Null: not a gRPC call, or its status is unknown */
function settleCall(span: Span, status: number | null, isFault: (status: number) => boolean): void {
  if (status === null) return;
  span.setAttribute("rpc.system", "grpc").setAttribute("rpc.grpc.status_code", status);
  if (isFault(status)) span.setAttribute("error.type", String(status)).setStatus({ code: SpanStatusCode.ERROR });
}

const serverAttributes = (exchange: LiveExchange): Attributes => ({
  ...serverSpanAttributes(exchange),
  "network.peer.address": exchange.request.peerAddress,
});

function clientAttributes({ target, tries }: LiveExchange, { method, path }: ForwardPlan): Attributes {
  if (target === null) return {};
  const [plainPath = ""] = path.split("?", 1);
  return {
    ...httpMethodAttributes(method),
    "server.address": target.host,
    "server.port": target.port,
    "url.full": `${target.scheme}://${hostAndPort(target)}${plainPath}`,
    ...(tries > 1 && { "http.request.resend_count": tries - 1 }),
  };
}
