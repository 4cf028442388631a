/** What all clients' connections of a listener share. */
import type { ClientMemory } from "../listener/client-memory.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { Http1ExchangeContext } from "./http1-exchange.ts";
import type { MinRateLimits } from "./min-rate-timer.ts";
import type { HeadLimits } from "./parse/request-head.ts";

/** What a client's connection is held to, whatever it speaks. */
export interface ClientConnectionLimits {
  /** Milliseconds in which a head, or the first request of HTTP/2, must have come. */
  readonly headersTimeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAliveTimeout: number;
  /** In which a client must send its bodies. */
  readonly bodyPace: MinRateLimits;
  /** In which a client must take what was written to it. */
  readonly sendPace: MinRateLimits;
  /** Milliseconds of silence after which a client is asked whether it is still there. */
  readonly probeInterval: number;
  /** Requests that one connection carries. */
  readonly maxRequests: number;
  /** Told of every request, before anything is looked up for it. */
  readonly onRequest: () => void;
}

export interface ConnectionContext extends Http1ExchangeContext, ClientConnectionLimits {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (connection: ClientConnection) => void;
}
