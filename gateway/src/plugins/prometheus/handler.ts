/** prometheus: updates the metrics of its config at the end of an exchange. */
import type { Consumer, Route, Service } from "@sluice/model";
import type { Exchange, Timings } from "../../exchange/exchange.ts";
import type { GatewayMetrics } from "../../metrics/metrics.ts";
import type { Recorder } from "../../metrics/recorder.ts";
import type { PluginHandler } from "../plugin.ts";

/** nginx's status for a client that disconnected before the response; Kong counts these too. */
const CLIENT_CLOSED_REQUEST = 499;

/** Milliseconds; a phase that did not happen is not counted. */
function recordLatencies(recorder: Recorder, { started, forwarded, answered, ended }: Timings): void {
  // The gateway's own latency ends when the request is sent to the upstream, or else with the gateway's own response.
  const left = forwarded ?? ended;
  if (left !== undefined) recorder.latency("gatewayLatency", Math.max(0, left - started));
  if (forwarded !== undefined && answered !== undefined)
    recorder.latency("upstreamLatency", Math.max(0, answered - forwarded));
  if (ended !== undefined) recorder.latency("requestLatency", Math.max(0, ended - started));
}

interface Kept {
  /** The service in the recorder's labels: a route may get another service. */
  readonly service: Service | null;
  readonly recorder: Recorder;
}

/** Recorders by route, kept as long as the route object. */
class Recorders {
  readonly #metrics: GatewayMetrics;
  readonly #byRoute = new WeakMap<Route, Kept>();

  constructor(metrics: GatewayMetrics) {
    this.#metrics = metrics;
  }

  /** @param consumer "" for all requests of a route */
  of({ route, service }: Exchange, consumer: string): Recorder {
    const kept = this.#byRoute.get(route);
    if (kept !== undefined && kept.service === service) return kept.recorder;
    const labels = { service: service?.name ?? service?.host ?? "", route: route.name ?? route.id, consumer };
    const recorder = this.#metrics.recorder(labels);
    this.#byRoute.set(route, { service, recorder });
    return recorder;
  }
}

const nameOf = ({ username, custom_id, id }: Consumer): string => username ?? custom_id ?? id;

export const prometheus: PluginHandler<"prometheus"> = (config, _scope, { metrics }) => {
  const ofRoutes = new Recorders(metrics);
  const ofConsumers = new WeakMap<Consumer, Recorders>();

  function recorderOf(exchange: Exchange): Recorder {
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
  };
};
