/** Counters of events that no plugin configures. */
import { WORKSPACE } from "./recorder.ts";
import type { MetricTable } from "./table.ts";

/** A connection that is not HTTP, at its end. */
export interface StreamSession {
  /** Empty: there is none. */
  readonly service: string;
  readonly route: string;
  /** The status of a request with the same result. */
  readonly code: number;
  readonly source: "service" | "gateway";
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface EventMetrics {
  /** Counts a request that was answered before a route matched; the reason is from a fixed set. */
  countUnrouted(reason: string): void;
  countStream(session: StreamSession): void;
  /** Counts a further attempt at a service, or one that the service's retry budget did not permit. */
  countRetry(service: string, isSent: boolean): void;
  /** Counts a counter of a rate limit that was replaced before its window had ended, because the memory was full. */
  countReplacedCounter(): void;
}

interface EventMetricsOptions {
  /** Creates the table of a counter with these labels. */
  readonly counter: (name: string, help: string, labelNames: readonly string[]) => MetricTable;
  /** The table of bytes, which also counts those of connections that are not HTTP. */
  readonly bandwidth: MetricTable;
  /** The name of the source of responses that the gateway makes itself. */
  readonly ownSource: string;
}

export function createEventMetrics({ counter, bandwidth, ownSource }: EventMetricsOptions): {
  readonly tables: readonly MetricTable[];
  readonly counts: EventMetrics;
} {
  const unrouted = counter(
    "sluice_http_requests_unrouted_total",
    "Requests that were answered before they had a route, by reason",
    ["reason"],
  );
  const streams = counter(
    "sluice_stream_sessions_total",
    "Connections that are not HTTP, at their end, by service, route, status and source of the status",
    ["service", "route", "code", "source", "workspace"],
  );
  const retries = counter(
    "sluice_upstream_retries_total",
    "Further attempts at the upstream of a service: sent, or not permitted by its retry budget (over_budget)",
    ["service", "result", "workspace"],
  );
  const replacedCounters = counter(
    "sluice_rate_limit_counters_replaced_total",
    "Counters of rate limits that were replaced before their window had ended, because the memory for counters was full",
    [],
  );
  // The counter starts at 0, so that an alert on an increase sees the first event.
  replacedCounters.of([]);
  return {
    tables: [unrouted, streams, retries, replacedCounters],
    counts: {
      countUnrouted(reason) {
        const snakeCase = reason.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        unrouted.increase(unrouted.of([snakeCase]), 1);
      },
      countStream({ service, route, code, source, bytesIn, bytesOut }) {
        const shown = source === "gateway" ? ownSource : source;
        streams.increase(streams.of([service, route, `${code}`, shown, WORKSPACE]), 1);
        for (const [direction, bytes] of [
          ["ingress", bytesIn],
          ["egress", bytesOut],
        ] as const)
          if (bytes > 0) bandwidth.increase(bandwidth.of([service, route, direction, WORKSPACE, ""]), bytes);
      },
      countRetry: (service, isSent) =>
        retries.increase(retries.of([service, isSent ? "sent" : "over_budget", WORKSPACE]), 1),
      countReplacedCounter: () => replacedCounters.increase(replacedCounters.of([]), 1),
    },
  };
}
