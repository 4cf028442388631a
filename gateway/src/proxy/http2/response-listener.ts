/** What a delivery hears of an upstream's response, whatever the upstream speaks. */
import type { GatewayErrorName } from "../response/gateway-errors.ts";

/** Lists are flat: name, value, name, value. */
export interface UpstreamHead {
  readonly status: number;
  readonly headers: readonly string[];
  /** No body follows. */
  readonly ended: boolean;
  /** Trailers may follow the body. */
  readonly trailers: boolean;
}

export interface ResponseListener {
  interim(status: number, headers: readonly string[]): void;
  head(head: UpstreamHead): void;
  data(piece: Buffer): void;
  /** Null: no trailers. */
  end(trailers: readonly string[] | null): void;
  /** Everything that came at once has been told. False: no more until `resume` is called. */
  flush(): boolean;
  /** No response will come. */
  failed(fault: GatewayErrorName, error: Error | null): void;
  /** The response broke off after its head. */
  broken(error: Error): void;
}

/** An exchange's way to the upstream. */
export interface UpstreamCallHandle {
  start(): void;
  /** The client takes more again. */
  resume(): void;
  /** The client is gone. */
  abort(): void;
}
