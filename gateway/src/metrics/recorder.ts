/** Counts the requests of one route, or of one consumer on a route, without allocating an object per request. */
import type { RequestLabels, RequestRecorder } from "@sluice/plugin-sdk";
import type { MetricCell, MetricTable } from "./table.ts";

export interface RequestTables {
  readonly requests: MetricTable;
  readonly bandwidth: MetricTable;
  readonly gatewayLatency: MetricTable;
  readonly upstreamLatency: MetricTable;
  readonly requestLatency: MetricTable;
  readonly sessionDuration: MetricTable;
}

/** The name of Kong's default workspace; Kong's dashboards select by it. */
export const WORKSPACE = "default";

export class Recorder implements RequestRecorder {
  readonly #labels: RequestLabels;
  readonly #tables: RequestTables;
  /** The value of the label `source` for the gateway's own responses. */
  readonly #gatewaySource: string;
  /** The cells by status (negative for the gateway's own responses), direction or kind of latency. */
  readonly #cells = new Map<string | number, MetricCell>();

  constructor(labels: RequestLabels, tables: RequestTables, gatewaySource: string) {
    this.#labels = labels;
    this.#tables = tables;
    this.#gatewaySource = gatewaySource;
  }

  request(code: number, source: "service" | "gateway"): void {
    const { requests } = this.#tables;
    const known = this.#known(requests, source === "service" ? code : -code);
    requests.increase(known ?? this.#addRequests(code, source), 1);
  }

  bytes(ingress: number, egress: number): void {
    if (ingress > 0) this.#transfer("ingress", ingress);
    if (egress > 0) this.#transfer("egress", egress);
  }

  latency(kind: Parameters<RequestRecorder["latency"]>[0], milliseconds: number): void {
    const table = this.#tables[kind];
    const { service, route } = this.#labels;
    table.observe(this.#known(table, kind) ?? this.#add(table, kind, [service, route, WORKSPACE]), milliseconds);
  }

  #transfer(direction: "ingress" | "egress", bytes: number): void {
    const { bandwidth } = this.#tables;
    const { service, route, consumer } = this.#labels;
    const known = this.#known(bandwidth, direction);
    bandwidth.increase(
      known ?? this.#add(bandwidth, direction, [service, route, direction, WORKSPACE, consumer]),
      bytes,
    );
  }

  #addRequests(code: number, source: "service" | "gateway"): MetricCell {
    const { service, route, consumer } = this.#labels;
    const isOwn = source === "gateway";
    const shown = isOwn ? this.#gatewaySource : source;
    const labels = [service, route, String(code), shown, WORKSPACE, consumer];
    return this.#add(this.#tables.requests, isOwn ? -code : code, labels);
  }

  /** The cell of the key, marked as used; null if there is none, or if the table has dropped it. */
  #known(table: MetricTable, key: string | number): MetricCell | null {
    const cell = this.#cells.get(key);
    if (cell === undefined || !cell.kept) return null;
    table.use(cell);
    return cell;
  }

  #add(table: MetricTable, key: string | number, labels: readonly string[]): MetricCell {
    const cell = table.of(labels);
    this.#cells.set(key, cell);
    return cell;
  }
}
