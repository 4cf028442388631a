/** Services of the node for plugins; they live as long as the node. */
import type { Exchange } from "../exchange/exchange.ts";
import type { Concurrency } from "./concurrency.ts";
import type { Counters } from "./counters.ts";

export interface PluginServices {
  readonly counters: Counters;
  readonly concurrency: Concurrency;
  readonly metrics: RequestMetrics;
  readonly operations: OperationRecorder;
  /** Milliseconds since the epoch; a fake in tests. */
  now(): number;
}

export interface RequestLabels {
  /** The service's name, else its host; "" for a route without a service. */
  readonly service: string;
  /** The route's name, else its id. */
  readonly route: string;
  /** "" when requests are not counted by consumer. */
  readonly consumer: string;
}

/** The metrics of requests by service, route and consumer. */
export interface RequestMetrics {
  /** The recorder for requests of a matched route. Keep it: creating one costs more than counting. */
  recorder(labels: RequestLabels): RequestRecorder;
}

/** Records the requests of one route, or of one consumer on it, with their bytes and latencies. */
export interface RequestRecorder {
  /** @param code Status of the response */
  request(code: number, source: "service" | "gateway"): void;
  bytes(ingress: number, egress: number): void;
  /**
   * Records the latency that the gateway added, the time until the upstream's response began, the latency of the whole
   * request, or the duration of a connection that is not HTTP.
   */
  latency(
    kind: "gatewayLatency" | "upstreamLatency" | "requestLatency" | "sessionDuration",
    milliseconds: number,
  ): void;
}

/** An operation that a plugin has found in a request, such as a query of GraphQL. A request may have several. */
export interface RecordedOperation {
  /** The exchange of the request, which has ended unless `duration` is set. */
  readonly exchange: Exchange;
  /** A word of the protocol, such as `query`. */
  readonly type: string;
  /** If clients choose the names, the plugin must limit their number. */
  readonly name: string;
  /**
   * Tells operations with one name apart, such as the first digits of a document's hash. The plugin must limit the number
   * of its values too. Default: empty.
   */
  readonly hash?: string;
  /** Milliseconds, of an operation that has ended before its exchange. Default: the duration of the exchange. */
  readonly duration?: number;
  /** Whether the response reports that the operation failed, by its status or in its body. */
  readonly failed: boolean;
}

/** Counts operations for `GET /traffic?by=operations` of the admin API. */
export interface OperationRecorder {
  /** To be called in the phase `log`, or with `duration` at the end of the operation. */
  record(operation: RecordedOperation): void;
}
