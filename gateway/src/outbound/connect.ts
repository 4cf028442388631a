/**
 * Opens every configured connection (to upstreams, for health checks, and for plugins), subject to the guard. `npm run
 * check` rejects code that opens a connection in another way (tools/check/checks/check-connections.ts).
 */
import { connect as connectPlain, type OnReadOpts, type Socket } from "node:net";
import {
  type ConnectionOptions,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import type { Guard } from "./guard.ts";

export interface OutboundConnectOptions {
  /** Host name or address. */
  readonly host: string;
  readonly port: number;
  readonly allowHalfOpen?: boolean;
  /** A buffer for received bytes. Default: the socket emits "data" events instead. */
  readonly onread?: OnReadOpts;
  /** An open connection to the host, on which TLS starts. Absent: a new connection is opened. */
  readonly socket?: Socket;
  /** Absent: without TLS. */
  readonly tls?: Omit<ConnectionOptions, "host" | "port" | "path" | "lookup" | "socket">;
}

/** Returns a connecting socket. It never throws: a refused address results in an "error" event. */
export type Connect = (options: OutboundConnectOptions) => Socket | TLSSocket;

/**
 * @param authorities PEM certificates of CAs that are trusted in addition to Node's default CAs, on TLS connections
 * without a `ca` option. Default: none.
 */
export function connectBehind(guard: Guard, authorities: readonly string[] = []): Connect {
  let context: SecureContext | undefined;
  /** Created once, because reading Node's default CAs costs some milliseconds. */
  const trusting = (tls: OutboundConnectOptions["tls"]) => {
    if (authorities.length === 0 || tls?.ca !== undefined) return {};
    context ??= createSecureContext({ ca: [...getCACertificates("default"), ...authorities] });
    return { secureContext: context };
  };
  return ({ host, port, allowHalfOpen = false, onread, socket, tls }) => {
    if (socket !== undefined) return connectTls({ ...trusting(tls), ...tls, host, socket });
    try {
      guard.check(host, port);
    } catch (error) {
      return refusedSocket(error as Error);
    }
    const buffer = onread === undefined ? {} : { onread };
    const common = { host, port, lookup: guard.lookup(port), noDelay: true, allowHalfOpen, ...buffer };
    return tls === undefined ? connectPlain(common) : connectTls({ ...trusting(tls), ...tls, ...common });
  };
}

/** A socket that fails asynchronously, like one whose host name cannot be resolved. */
export const refusedSocket = (error: Error): Socket =>
  connectPlain({ host: "refused.invalid", port: 1, lookup: (_host, _options, done) => setImmediate(done, error, "") });
