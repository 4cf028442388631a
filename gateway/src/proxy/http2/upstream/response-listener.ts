/** Response events of an upstream, for HTTP/1.1 and HTTP/2 upstreams alike. */
import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";

/** Lists are flat: name, value, name, value. */
export interface UpstreamHead {
  readonly status: number;
  readonly headers: readonly string[];
  /** Whether the response has no body. */
  readonly ended: boolean;
  /** Whether trailers may follow the body. */
  readonly trailers: boolean;
}

export interface ResponseListener {
  interim(status: number, headers: readonly string[]): void;
  head(head: UpstreamHead): void;
  data(piece: Buffer): void;
  /** Null: no trailers. */
  end(trailers: readonly string[] | null): void;
  /** Called after all events of one read. Returns false when no more data may follow before `resume`. */
  flush(): boolean;
  /** No response will come. */
  failed(fault: GatewayErrorName, error: Error | null): void;
  /** The response broke off after its head. */
  broken(error: Error): void;
}

/** The upstream side of an exchange, as the exchange controls it. */
export interface UpstreamCallHandle {
  start(): void;
  /** The client accepts data again. */
  resume(): void;
  /** The client disconnected. */
  abort(): void;
}
