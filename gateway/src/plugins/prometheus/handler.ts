/** prometheus: counts what its config asks for when an exchange is over. */
import type { Consumer, Route, Service } from "@sluice/model";
import type { Exchange, Timings } from "../../proxy/exchange/exchange.ts";
import type { PluginHandler } from "../plugin.ts";
import type { Metrics } from "./metrics.ts";
import type { Recorder } from "./recorder.ts";

/** nginx's word for a client that went away before it was answered; Kong counts it so. */
const CLIENT_CLOSED_REQUEST = 499;

/** Milliseconds; what did not happen is not counted. */
function recordLatencies(recorder: Recorder, { started, forwarded, answered, ended }: Timings): void {
  // The gateway's part ends when the request leaves for the upstream; when none does, with the gateway's own answer.
  const left = forwarded ?? ended;
  if (left !== undefined) recorder.gatewayLatency(Math.max(0, left - started));
  if (forwarded !== undefined && answered !== undefined) recorder.upstreamLatency(Math.max(0, answered - forwarded));
  if (ended !== undefined) recorder.requestLatency(Math.max(0, ended - started));
}

interface Kept {
  /** Whose name the recorder tells: a route that stays may get another service. */
  readonly service: Service | null;
  readonly recorder: Recorder;
}

/** Recorders by route, kept as long as the route is. */
class Recorders {
  readonly #metrics: Metrics;
  readonly #byRoute = new WeakMap<Route, Kept>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** @param consumer "" for a route's requests altogether */
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
