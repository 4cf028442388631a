/** The rates that `GET /traffic` reports, and those of the last minutes. */
import type { TrafficFilter } from "@sluice/model";

export type TrafficSubject = TrafficFilter["by"];

/** Numbers per second. Latencies are in milliseconds, and null if there were no requests. */
export interface TrafficRates {
  readonly requests: number;
  readonly client_errors: number;
  readonly server_errors: number;
  /** Answered by the gateway itself with 400 or above. */
  readonly refused: number;
  readonly latencies: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
}

export interface TrafficPoint extends TrafficRates {
  /** Milliseconds of the page's clock. */
  readonly at: number;
}

export interface TrafficEntry extends TrafficRates {
  readonly id: string;
  readonly name: string | null;
  /** The type of an operation, such as `query`. Only operations have this member and the next three. */
  readonly type?: string;
  /** The first digits of the hash of an operation's document; empty: the document is not known. */
  readonly hash?: string;
  readonly service?: { readonly id: string; readonly name: string | null } | null;
  /** Operations that failed, by the status or the body of the response. */
  readonly failed?: number;
}

export interface TrafficReport {
  readonly total: TrafficRates;
  readonly data: readonly TrafficEntry[];
  readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
}

/** Points of the charts: ten minutes with one point every five seconds. */
const MAX_POINTS = 120;

/** Keeps the reported rates of the last minutes in the memory of the tab. */
export class TrafficMemory {
  readonly #points: TrafficPoint[] = [];
  #unanswered: TrafficReport["unanswered"] = [];
  readonly #entries = new Map<TrafficSubject, ReadonlyMap<string, TrafficEntry>>();

  /** Keeps reports that were received at the same time. */
  add(reports: ReadonlyMap<TrafficSubject, TrafficReport>, at: number): void {
    for (const [subject, { data }] of reports)
      this.#entries.set(subject, new Map(data.map((entry) => [entry.id, entry])));
    const [report] = reports.values();
    if (report) {
      this.#points.push({ at, ...report.total });
      this.#unanswered = report.unanswered;
    }
    if (this.#points.length > MAX_POINTS) this.#points.shift();
  }

  get points(): readonly TrafficPoint[] {
    return this.#points;
  }

  /** The nodes that the last report is about. */
  get nodesText(): string {
    const missing = this.#unanswered.map(({ node, reason }) => `${node} (${reason})`);
    return missing.length === 0 ? "all nodes" : `all nodes except ${missing.join(", ")}`;
  }

  entries(subject: TrafficSubject): readonly TrafficEntry[] {
    return [...(this.#entries.get(subject)?.values() ?? [])];
  }

  ratesOf(subject: TrafficSubject, id: string): TrafficRates | undefined {
    return this.#entries.get(subject)?.get(id);
  }
}
