import type { MinRateLimits } from "../timers/min-rate-timer.ts";

/** A client connection of either protocol. */
export interface OpenConnection {
  readonly isAnswering: boolean;
  /** Closes as soon as no request is under way. */
  drain(): void;
  destroy(): void;
  /** Called periodically with the current time. Absent: the connection has no periodic checks. */
  look?(now: number): void;
}

/** Limits of a client connection, for HTTP/1.1 and HTTP/2. */
export interface ClientConnectionLimits {
  /** Milliseconds within which a head, or the first request of HTTP/2, must arrive. */
  readonly headersTimeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAliveTimeout: number;
  /** Limits for request bodies. */
  readonly bodyPace: MinRateLimits;
  /** Limits for reading responses. */
  readonly sendPace: MinRateLimits;
  /** Milliseconds without traffic after which a client is probed. */
  readonly probeInterval: number;
  /** Requests per connection. */
  readonly maxRequests: number;
  /** Called for every request, before its route is looked up. */
  readonly onRequest: () => void;
}
