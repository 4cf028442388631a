/** What is known about a connection that is not HTTP once it has ended. */
import type { Service, SnapshotRoute, StreamProtocol } from "@sluice/model";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";

export interface StreamRecord {
  readonly id: string;
  readonly protocol: StreamProtocol;
  /** Address of the client, in the form of `canonicalAddress`. */
  readonly peerAddress: string;
  /** Null: the client sent none. */
  readonly serverName: string | null;
  /** Null: no route matched. */
  readonly route: SnapshotRoute | null;
  readonly service: Service | null;
  /** The target of the last attempt; null: there was none. */
  readonly target: UpstreamTarget | null;
  readonly tries: number;
  /** Why the gateway closed the connection; null: it was joined with a target. */
  readonly fault: GatewayErrorName | null;
  /** Bytes from the client, with the ClientHello and a PROXY header. */
  readonly bytesIn: number;
  /** Bytes to the client. */
  readonly bytesOut: number;
  /** Milliseconds from the ClientHello to the end of the connection. */
  readonly duration: number;
  /** Milliseconds until the connection was joined with a target; null: it was not. */
  readonly connected: number | null;
}
