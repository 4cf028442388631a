/** A connection of a client that is not HTTP (routes with the protocols tcp, tls and tls_passthrough). */
import type { ExchangeRoute, ExchangeService } from "../exchange/entities.ts";
import type { ForwardAttempt, Timings } from "../exchange/exchange.ts";

export interface RawConnection {
  /** The client's address: that of the connection, or of its PROXY header. */
  readonly clientAddress: string;
  /** `tls`: TLS ends at the gateway. `tls_passthrough`: the gateway reads only the server name. */
  readonly protocol: "tcp" | "tls" | "tls_passthrough";
  /** Server name of the ClientHello; null: there is none. */
  readonly serverName: string | null;
  readonly route: ExchangeRoute;
  readonly service: ExchangeService;
  /** See `Identities.namespace`. */
  readonly namespace: string | null;
}

/** Why a connection is closed instead of forwarded. */
export interface ConnectionRefusal {
  /** The status of an HTTP response with the same cause, for logs and metrics. */
  readonly status: number;
  /** For the node's log. */
  readonly reason: string;
}

export interface EndedConnection extends RawConnection {
  /** 200 if the client was connected with a target, else the status of an HTTP response with the same cause. */
  readonly status: number;
  /** As in `Exchange`, so that a plugin can treat both alike. A connection has no consumer. */
  readonly consumer: null;
  /** Bytes from the client, with the ClientHello and a PROXY header. */
  readonly bytesIn: number;
  /** Bytes to the client. */
  readonly bytesOut: number;
  /** `forwarded`: when the client was connected with a target. `answered` is not set. */
  readonly timings: Timings;
  /** The attempts to connect to a target, in order. */
  readonly attempts: readonly ForwardAttempt[];
  /** The connection as JSON, in the format of Kong's log plugins (`kong.log.serialize` in the stream subsystem). */
  logRecord(): string;
}
