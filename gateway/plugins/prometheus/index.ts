/**
 * prometheus: at the end of each exchange, updates the metrics that the config selects. The node itself counts
 * connections that are not HTTP and their bytes, so only their durations are recorded here.
 */
import {
  definePlugin,
  type EndedConnection,
  type Exchange,
  type ExchangeConsumer,
  type ExchangeRoute,
  type ExchangeService,
  type RequestMetrics,
  type RequestRecorder,
  type Timings,
} from "@sluice/plugin-sdk";
import { prometheusFacts } from "./schema.ts";

/** nginx's status for a client that disconnected before the response; Kong counts such requests too. */
const CLIENT_CLOSED_REQUEST = 499;

/** Records the latencies in milliseconds; a latency without a beginning or an end is left out. */
function recordLatencies(recorder: RequestRecorder, { started, forwarded, answered, ended }: Timings): void {
  // The gateway's own latency ends with the start of the last attempt or, without an attempt, with the exchange.
  const left = forwarded ?? ended;
  if (left !== undefined) recorder.latency("gatewayLatency", Math.max(0, left - started));
  if (forwarded !== undefined && answered !== undefined)
    recorder.latency("upstreamLatency", Math.max(0, answered - forwarded));
  if (ended !== undefined) recorder.latency("requestLatency", Math.max(0, ended - started));
}

function recordDurations(recorder: RequestRecorder, { started, forwarded, ended = started }: Timings): void {
  recorder.latency("gatewayLatency", Math.max(0, (forwarded ?? ended) - started));
  recorder.latency("sessionDuration", Math.max(0, ended - started));
}

interface Kept {
  /** The service in the recorder's labels. A recorder is replaced when its route refers to another service. */
  readonly service: ExchangeService | null;
  readonly recorder: RequestRecorder;
}

/** Recorders by route, kept as long as the route object. */
class Recorders {
  readonly #metrics: RequestMetrics;
  readonly #byRoute = new WeakMap<ExchangeRoute, Kept>();

  constructor(metrics: RequestMetrics) {
    this.#metrics = metrics;
  }

  /**
   * The recorder for the route and the service of the exchange or connection.
   *
   * @param consumer The value of the label; "" for requests that are not counted by consumer
   */
  of({ route, service }: Exchange | EndedConnection, consumer: string): RequestRecorder {
    const kept = this.#byRoute.get(route);
    if (kept !== undefined && kept.service === service) return kept.recorder;
    const labels = { service: service?.name ?? service?.host ?? "", route: route.name ?? route.id, consumer };
    const recorder = this.#metrics.recorder(labels);
    this.#byRoute.set(route, { service, recorder });
    return recorder;
  }
}

const nameOf = ({ username, custom_id, id }: ExchangeConsumer): string => username ?? custom_id ?? id;

export const prometheus = definePlugin({
  ...prometheusFacts,
  phases(config, { metrics }) {
    const ofRoutes = new Recorders(metrics);
    const ofConsumers = new WeakMap<ExchangeConsumer, Recorders>();

    function recorderOf(exchange: Exchange): RequestRecorder {
      const { consumer } = exchange;
      if (!config.per_consumer || consumer === null) return ofRoutes.of(exchange, "");
      let recorders = ofConsumers.get(consumer);
      if (recorders === undefined) {
        recorders = new Recorders(metrics);
        ofConsumers.set(consumer, recorders);
      }
      return recorders.of(exchange, nameOf(consumer));
    }

    return {
      log(exchange) {
        const recorder = recorderOf(exchange);
        if (config.status_code_metrics) recorder.request(exchange.status || CLIENT_CLOSED_REQUEST, exchange.source);
        if (config.bandwidth_metrics) recorder.bytes(exchange.bytesIn, exchange.bytesOut);
        if (config.latency_metrics) recordLatencies(recorder, exchange.timings);
      },
      connectionLog(connection) {
        if (config.latency_metrics) recordDurations(ofRoutes.of(connection, ""), connection.timings);
      },
    };
  },
});
