/** zipkin: traces requests, and connections that are not HTTP (docs/reference/kong-compatibility.md#zipkin). */
import {
  DeliveryQueue,
  definePlugin,
  type EndedConnection,
  type Exchange,
  ExchangeValues,
  emptyContext,
  idOfLength,
  propagate,
  propagationOf,
  type ReceivedContext,
  randomId,
  receivedContext,
  SPAN_DIGITS,
  TRACE_DIGITS,
} from "@sluice/plugin-sdk";
import { zipkinFacts } from "./schema.ts";
import { connectionSpansOf, type ZipkinTrace, zipkinSpansOf } from "./spans.ts";

export const zipkin = definePlugin({
  ...zipkinFacts,
  phases(config, context) {
    const { http_endpoint: url, http_response_header_for_traceid: idHeader } = config;
    const propagation = propagationOf(config);
    const timeout = Math.max(1, config.connect_timeout + config.send_timeout + config.read_timeout);
    const headers = { "Content-Type": "application/json" };
    const traces = new ExchangeValues<ZipkinTrace>();
    const queue =
      url === null
        ? null
        : new DeliveryQueue({
            settings: config.queue,
            context,
            async deliver(batch) {
              const body = batch.join(",", "[", "]");
              const { status } = await context.network.http.send({ url, method: "POST", headers, body, timeout });
              if (status < 200 || status >= 300)
                throw new Error(`the Zipkin server answered with the status ${status}`);
            },
          });

    function traceFrom(received: ReceivedContext | null): ZipkinTrace {
      const shares = received?.sharesSpan === true;
      return {
        traceId: received?.traceId ?? randomId(config.traceid_byte_count * 2),
        parentId: (shares ? received.parentId : received?.spanId) ?? null,
        requestSpan: (shares ? received.spanId : null) ?? randomId(SPAN_DIGITS),
        proxySpan: randomId(SPAN_DIGITS),
        isSampled: received?.sampled ?? Math.random() < config.sample_ratio,
      };
    }

    function begin(exchange: Exchange, received: ReceivedContext | null): ZipkinTrace {
      const trace = traceFrom(received);
      traces.set(exchange, trace);
      return trace;
    }

    /** The trace, begun here if another plugin answered the request before the access phase of this plugin. */
    const traceOf = (exchange: Exchange): ZipkinTrace =>
      traces.get(exchange) ?? begin(exchange, receivedContext(exchange, propagation));

    return {
      access(exchange) {
        const received = receivedContext(exchange, propagation);
        const { traceId, proxySpan, requestSpan, isSampled } = begin(exchange, received);
        propagate(exchange, propagation, {
          received,
          context: {
            ...(received ?? emptyContext),
            traceId: idOfLength(traceId, TRACE_DIGITS),
            spanId: proxySpan,
            parentId: requestSpan,
            sampled: isSampled,
          },
        });
        return undefined;
      },
      ...(idHeader !== null && {
        responseHeaders: (exchange: Exchange) => exchange.responseHeaders.append(idHeader, traceOf(exchange).traceId),
      }),
      ...(queue !== null && {
        log(exchange: Exchange) {
          const trace = traceOf(exchange);
          if (!trace.isSampled) return;
          for (const span of zipkinSpansOf(exchange, trace, { config, now: context.now() })) queue.add(span);
        },
        connectionLog(connection: EndedConnection) {
          const trace = traceFrom(null);
          if (!trace.isSampled) return;
          for (const span of connectionSpansOf(connection, trace, { config, now: context.now() })) queue.add(span);
        },
        stop: () => queue.close(),
      }),
    };
  },
});
