/** State shared by all client connections of a listener. */
import type { ClientMemory } from "../listener/client-memory.ts";
import type { MinRateLimits } from "../timers/min-rate-timer.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { Http1ExchangeContext } from "./http1-exchange.ts";
import type { HeadLimits } from "./parse/request-head.ts";

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

export interface ConnectionContext extends Http1ExchangeContext, ClientConnectionLimits {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (connection: ClientConnection) => void;
}
