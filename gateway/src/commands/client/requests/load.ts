/**
 * Generates load: requests to one URL over a number of connections.
 *
 * With a rate, requests are due at fixed times, however slow the server is. A request that waits for a connection is
 * measured from the time at which it was due, so a slow response also counts for the requests behind it. Without a rate,
 * each connection sends its next request when it has read the previous response.
 */
import type { IncomingHttpHeaders } from "node:http";
import { createHistogram } from "node:perf_hooks";

export interface GeneratedLoad {
  readonly connections: number;
  readonly milliseconds: number;
  /** Requests per second; null: as many as the connections allow. */
  readonly rate: number | null;
  /** Sends one request. Rejects if there is no complete response. */
  readonly send: () => Promise<LoadResponse>;
}

export interface LoadResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** The lowest status that is an error. */
const ERROR = 400;

/** Counts of responses and errors, and latencies. */
export class LoadCounts {
  responses = 0;
  readonly statuses = new Map<number, number>();
  /** Error responses of the gateway itself. */
  refused = 0;
  /** Responses whose headers tell whether the gateway or an upstream sent them. */
  attributed = 0;
  /** Requests without a complete response, by reason. */
  readonly errors = new Map<string, number>();
  /** In microseconds. */
  readonly latencies = createHistogram();

  addResponse({ status, headers }: LoadResponse, milliseconds: number): void {
    this.responses++;
    increment(this.statuses, status);
    this.latencies.record(Math.max(1, Math.round(milliseconds * 1000)));
    const isOwn = isOwnResponse(headers);
    if (isOwn === null) return;
    this.attributed++;
    if (isOwn && status >= ERROR) this.refused++;
  }

  addError({ code, message }: Error & { readonly code?: string }): void {
    increment(this.errors, code ?? message);
  }
}

export interface LoadEnd {
  /** Requests that were due, but for which no connection was free until the end. */
  readonly unsent: number;
  /** Milliseconds from the first request to the end of the last response. */
  readonly elapsed: number;
}

/** Sends requests for the given time, and waits for their responses. */
export async function generateLoad(
  { connections, milliseconds, rate, send }: GeneratedLoad,
  counts: LoadCounts,
): Promise<LoadEnd> {
  const started = performance.now();
  const end = started + milliseconds;
  const total = rate === null ? Infinity : Math.ceil((rate * milliseconds) / 1000);
  let next = 0;
  const useConnection = async () => {
    while (next < total && performance.now() < end) {
      const due = rate === null ? performance.now() : started + (next * 1000) / rate;
      next++;
      const wait = due - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      // A timer that fires late is a delay of this process, not of the server.
      const from = wait > 0 ? performance.now() : due;
      await send().then(
        (response) => counts.addResponse(response, performance.now() - from),
        (error: Error) => counts.addError(error),
      );
    }
  };
  await Promise.all(Array.from({ length: connections }, useConnection));
  return { unsent: rate === null ? 0 : total - next, elapsed: performance.now() - started };
}

const increment = <Key>(numbers: Map<Key, number>, key: Key): void =>
  void numbers.set(key, (numbers.get(key) ?? 0) + 1);

/**
 * Whether a response is the gateway's own. The gateway adds X-Sluice-Response-Latency to its own responses, and
 * X-Sluice-Upstream-Latency to those of upstreams (X-Kong-* with SLUICE_COMPAT). Null: the response has neither header,
 * so the server is not a node.
 */
function isOwnResponse(headers: IncomingHttpHeaders): boolean | null {
  const has = (name: string) => ["x-sluice", "x-kong"].some((prefix) => headers[`${prefix}-${name}`] !== undefined);
  if (has("upstream-latency")) return false;
  return has("response-latency") ? true : null;
}
