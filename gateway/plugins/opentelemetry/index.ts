/** opentelemetry: traces requests (docs/reference/kong-compatibility.md#opentelemetry). */
import {
  DeliveryQueue,
  definePlugin,
  type Exchange,
  ExchangeValues,
  emptyContext,
  headerValue,
  propagate,
  propagationOf,
  type ReceivedContext,
  randomId,
  receivedContext,
  SPAN_DIGITS,
  TRACE_DIGITS,
} from "@sluice/plugin-sdk";
import { resourceOf, traceRequest } from "./otlp.ts";
import { opentelemetryFacts } from "./schema.ts";
import { type ExchangeTrace, spansOf } from "./spans.ts";

const PROTOBUF = "application/x-protobuf";

/** Kong's sampler: instances with the same rate choose the same traces, by the first eight bytes of the trace id. */
function isChosen(traceId: string, rate: number): boolean {
  if (rate >= 1) return true;
  return Number(Buffer.from(traceId.slice(0, 16), "hex").readBigUInt64LE()) < rate * 2 ** 64;
}

export const opentelemetry = definePlugin({
  ...opentelemetryFacts,
  phases(config, context) {
    const { traces_endpoint: url, http_response_header_for_traceid: idHeader } = config;
    if (url === null) return {};
    const propagation = propagationOf(config);
    const resource = resourceOf(config.resource_attributes);
    const configured = Object.entries(config.headers ?? {}).map(([name, value]) => [name, headerValue(value)] as const);
    const hasType = configured.some(([name]) => name.toLowerCase() === "content-type");
    const headers = { ...Object.fromEntries(configured), ...(!hasType && { "Content-Type": PROTOBUF }) };
    const timeout = Math.max(1, config.connect_timeout + config.send_timeout + config.read_timeout);
    const traces = new ExchangeValues<ExchangeTrace>();
    const queue = new DeliveryQueue({
      settings: config.queue,
      context,
      async deliver(batch) {
        const body = await traceRequest(batch.texts(), resource);
        const { status } = await context.network.http.send({ url, method: "POST", headers, body, timeout });
        if (status !== 200) throw new Error(`the collector answered with the status ${status}`);
      },
    });

    function begin(exchange: Exchange, received: ReceivedContext | null): ExchangeTrace {
      const traceId = received?.traceId ?? randomId(TRACE_DIGITS);
      const trace: ExchangeTrace = {
        traceId,
        parentId: received?.spanId ?? received?.parentId ?? null,
        serverSpan: randomId(SPAN_DIGITS),
        clientSpan: randomId(SPAN_DIGITS),
        isSampled: received?.sampled !== false && isChosen(traceId, config.sampling_rate ?? 1),
      };
      traces.set(exchange, trace);
      return trace;
    }

    /** The trace, begun here if another plugin answered the request before the access phase of this plugin. */
    const traceOf = (exchange: Exchange): ExchangeTrace =>
      traces.get(exchange) ?? begin(exchange, receivedContext(exchange, propagation));

    return {
      access(exchange) {
        const received = receivedContext(exchange, propagation);
        const { traceId, clientSpan, serverSpan, isSampled } = begin(exchange, received);
        propagate(exchange, propagation, {
          received,
          context: {
            ...(received ?? emptyContext),
            traceId,
            spanId: clientSpan,
            parentId: serverSpan,
            sampled: isSampled,
          },
        });
        return undefined;
      },
      ...(idHeader !== null && {
        responseHeaders: (exchange: Exchange) => exchange.responseHeaders.append(idHeader, traceOf(exchange).traceId),
      }),
      log(exchange) {
        const trace = traceOf(exchange);
        if (!trace.isSampled) return;
        for (const span of spansOf(exchange, trace, context.now())) queue.add(JSON.stringify(span));
      },
      stop: () => queue.close(),
    };
  },
});
