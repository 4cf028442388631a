/** What is known about a connection that is not HTTP once it has ended. */
import type { Service, SnapshotRoute } from "@sluice/model";
import type { ForwardAttempt } from "@sluice/plugin-sdk";
import type { ConnectionProtocol, UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";

export interface StreamRecord {
  readonly id: string;
  readonly protocol: ConnectionProtocol;
  /** Address of the client, in the form of `canonicalAddress`. */
  readonly peerAddress: string;
  /** The port of the node to which the client connected. */
  readonly port: number;
  /** Null: the client sent none. */
  readonly serverName: string | null;
  /** Null: TLS does not end at the gateway, or the connection was closed before. */
  readonly tls: { readonly version: string | null; readonly cipher: string | null } | null;
  /** Null: no route matched. */
  readonly route: SnapshotRoute | null;
  readonly service: Service | null;
  /** The target of the last attempt; null: there was none. */
  readonly target: UpstreamTarget | null;
  readonly attempts: readonly ForwardAttempt[];
  /** Why the gateway closed the connection; null: it was joined with a target. `refused`: a plugin closed it. */
  readonly fault: GatewayErrorName | "refused" | null;
  /** The status of a request with the same result. */
  readonly status: number;
  /** Bytes from the client, with the ClientHello and a PROXY header. */
  readonly bytesIn: number;
  /** Bytes to the client. */
  readonly bytesOut: number;
  /** Bytes from and to the target with which the client was joined. */
  readonly upstreamBytes: { readonly received: number; readonly sent: number };
  /** By `performance.now()`: the arrival of the ClientHello, or of a connection without TLS. */
  readonly started: number;
  /** Milliseconds from `started` to the end. */
  readonly duration: number;
  /** Milliseconds until the connection was joined with a target; null: it was not. */
  readonly connected: number | null;
}
