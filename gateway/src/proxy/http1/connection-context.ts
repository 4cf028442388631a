import type { ClientConnectionLimits, OpenConnection } from "../client/open-connection.ts";
import type { ClientMemory } from "../listener/client-memory.ts";
import type { Http1ExchangeContext } from "./http1-exchange.ts";
import type { HeadLimits } from "./parse/request-head.ts";

/** State shared by all client connections of a listener. */
export interface ConnectionContext extends Http1ExchangeContext, ClientConnectionLimits {
  readonly limits: HeadLimits;
  readonly memory: ClientMemory;
  readonly onClose: (connection: OpenConnection) => void;
}
