/** What all clients' connections of a listener share. */
import type { ClientMemory } from "../client-memory.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { DeliveryContext } from "./delivery.ts";
import type { PaceLimits } from "./pace.ts";
import type { HeadLimits } from "./parse/request-head.ts";

/** What a client's connection is held to, whatever it speaks. */
export interface ConnectionTerms {
  /** Milliseconds in which a head, or the first request of HTTP/2, must have come. */
  readonly headersTimeout: number;
  /** Milliseconds that an idle connection is kept. */
  readonly keepAliveTimeout: number;
  /** In which a client must send its bodies. */
  readonly bodyPace: PaceLimits;
  /** In which a client must take what was written to it. */
  readonly sendPace: PaceLimits;
  /** Milliseconds of silence after which a client is asked whether it is still there. */
  readonly probeInterval: number;
  /** Requests that one connection carries. */
  readonly maxRequests: number;
  /** Told of every request, before anything is looked up for it. */
  readonly onRequest: () => void;
}

export interface ConnectionContext extends DeliveryContext, ConnectionTerms {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (connection: ClientConnection) => void;
}
