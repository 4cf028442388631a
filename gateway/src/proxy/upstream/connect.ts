/**
 * Every connection that configuration causes is opened here, behind the guard: to upstreams, for health checks, and by
 * plugins. `npm run check` refuses other ways to open one (tools/check/check-connections.ts).
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

export interface ConnectOptions {
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
  readonly allowHalfOpen?: boolean;
  /** Where a connection without TLS reads to. Default: it tells by "data". */
  readonly onread?: OnReadOpts;
  /** Absent: without TLS. */
  readonly tls?: Omit<ConnectionOptions, "host" | "port" | "path" | "lookup" | "socket">;
}

/** A socket that connects. It never throws: a refused address is an "error" of the socket's. */
export type Connect = (options: ConnectOptions) => Socket | TLSSocket;

/**
 * @param authorities PEM certificates of authorities that are trusted beside those that Node brings, on connections that
 *   verify certificates and name no authorities themselves. Default: none.
 */
export function connectBehind(guard: Guard, authorities: readonly string[] = []): Connect {
  let context: SecureContext | undefined;
  /** Made once: to read all that Node brings takes some milliseconds. */
  const trusting = () => {
    if (authorities.length === 0) return {};
    context ??= createSecureContext({ ca: [...getCACertificates("default"), ...authorities] });
    return { secureContext: context };
  };
  return ({ host, port, allowHalfOpen = false, onread, tls }) => {
    try {
      guard.check(host, port);
    } catch (error) {
      return refused(error as Error);
    }
    const common = { host, port, lookup: guard.lookup(port), noDelay: true, allowHalfOpen };
    if (tls !== undefined) return connectTls({ ...trusting(), ...tls, ...common });
    return connectPlain(onread === undefined ? common : { ...common, onread });
  };
}

/** It is connecting, as any other, and fails as one whose name could not be looked up. */
const refused = (error: Error): Socket =>
  connectPlain({ host: "refused.invalid", port: 1, lookup: (_host, _options, done) => setImmediate(done, error, "") });
