/** Counts the requests of one route, or of one consumer on it, without allocating an object per request. */
import type { BucketCell, CountCell } from "./cells.ts";
import type { Cell, Series } from "./series.ts";

/** The labels of the requests. */
export interface RequestLabels {
  /** The service's name, else its host; "" for a route without a service. */
  readonly service: string;
  /** The route's name, else its id. */
  readonly route: string;
  /** "" when requests are not counted by consumer. */
  readonly consumer: string;
}

export type LatencyKind = "gateway" | "upstream" | "request";

/** The series of a node's request metrics. */
export interface Counted {
  readonly requests: Series<CountCell>;
  readonly bandwidth: Series<CountCell>;
  readonly latencies: Readonly<Record<LatencyKind, Series<BucketCell>>>;
  /** The value of the label `source`. */
  readonly source: (source: "service" | "gateway") => string;
}

/** The name of Kong's only workspace; Kong's dashboards select by it. */
const WORKSPACE = "default";

export class Recorder {
  readonly #labels: RequestLabels;
  readonly #counted: Counted;
  /** By status: positive for the service's responses, negative for the gateway's own. */
  readonly #requests = new Map<number, CountCell>();
  #ingress: CountCell | null = null;
  #egress: CountCell | null = null;
  #gateway: BucketCell | null = null;
  #upstream: BucketCell | null = null;
  #request: BucketCell | null = null;

  constructor(labels: RequestLabels, counted: Counted) {
    this.#labels = labels;
    this.#counted = counted;
  }

  request(code: number, source: "service" | "gateway"): void {
    const key = source === "service" ? code : -code;
    let cell = this.#requests.get(key) ?? null;
    if (!isUsed(cell, this.#counted.requests)) {
      const { service, route, consumer } = this.#labels;
      const made = this.#counted.source(source);
      cell = this.#counted.requests.of([service, route, String(code), made, WORKSPACE, consumer]);
      this.#requests.set(key, cell);
    }
    cell.value++;
  }

  bytes(ingress: number, egress: number): void {
    const { bandwidth } = this.#counted;
    if (ingress > 0) {
      if (!isUsed(this.#ingress, bandwidth)) this.#ingress = this.#bandwidthOf("ingress");
      this.#ingress.value += ingress;
    }
    if (egress > 0) {
      if (!isUsed(this.#egress, bandwidth)) this.#egress = this.#bandwidthOf("egress");
      this.#egress.value += egress;
    }
  }

  /** The latency that the gateway added, in milliseconds. */
  gatewayLatency(milliseconds: number): void {
    if (!isUsed(this.#gateway, this.#counted.latencies.gateway)) this.#gateway = this.#latencyOf("gateway");
    this.#gateway.observe(milliseconds);
  }

  /** Milliseconds until the upstream's response began. */
  upstreamLatency(milliseconds: number): void {
    if (!isUsed(this.#upstream, this.#counted.latencies.upstream)) this.#upstream = this.#latencyOf("upstream");
    this.#upstream.observe(milliseconds);
  }

  /** Milliseconds of the whole request. */
  requestLatency(milliseconds: number): void {
    if (!isUsed(this.#request, this.#counted.latencies.request)) this.#request = this.#latencyOf("request");
    this.#request.observe(milliseconds);
  }

  #bandwidthOf(direction: "ingress" | "egress"): CountCell {
    const { service, route, consumer } = this.#labels;
    return this.#counted.bandwidth.of([service, route, direction, WORKSPACE, consumer]);
  }

  #latencyOf(kind: LatencyKind): BucketCell {
    const { service, route } = this.#labels;
    return this.#counted.latencies[kind].of([service, route, WORKSPACE]);
  }
}

/** Whether the cell is still in the series; if so, marks it as used. */
function isUsed<Kind extends Cell>(cell: Kind | null, series: Series<Kind>): cell is Kind {
  if (cell === null || !cell.kept) return false;
  series.use(cell);
  return true;
}
