/**
 * The interface between the gateway and an HTTP engine: one function. Each engine must pass test/conformance/engine.
 */

import type { Runtime } from "../compile/runtime.ts";
import type { GatewayErrorName } from "../exchange/gateway-errors.ts";
import type { Connections } from "../metrics/metrics.ts";
import type { Guard } from "../outbound/guard.ts";
import type { ConnectionSlots } from "../shared-memory/connection-limits.ts";
import type { DebugTokens } from "./debug/debug-tokens.ts";
import type { CreateClientVerifier } from "./listener/client-validation.ts";
import type { DocumentPort, PortFailure } from "./listener/document-ports.ts";
import type { StapledResponses } from "./listener/tls-listener.ts";
import type { RequestObserver } from "./observability/observer.ts";
import type { ListenAddress, ProxySettings, StreamListenAddress } from "./settings.ts";

/** The methods of a logger that the proxy uses; a logger of pino has them. */
export interface ProxyLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface PipelineOptions {
  readonly settings: ProxySettings;
  readonly log: ProxyLog;
  /** Default null: requests are not observed. */
  readonly observer?: RequestObserver | null;
  /** Tokens with which clients get the durations of their requests. Default null: there are none. */
  readonly debugTokens?: DebugTokens | null;
  /** Called for every request that is answered before a route matched. */
  readonly onUnrouted?: (fault: GatewayErrorName) => void;
  /** Returns the runtime that a new request uses. */
  readonly runtime: () => Runtime;
}

export interface ProxyOptions extends PipelineOptions {
  readonly listen: ListenAddress;
  /** Address of the TLS listener. Absent: no TLS. */
  readonly listenTls?: ListenAddress;
  /** Addresses of listeners for connections that are not HTTP. Default: none. */
  readonly listenStreams?: readonly StreamListenAddress[];
  /** Whether other threads listen on the same addresses, so that the kernel distributes connections. Default false. */
  readonly reusePort?: boolean;
  /** Connection slots for clients. Default: slots of this listener only, limited by the settings. */
  readonly connectionSlots?: ConnectionSlots;
  /** Default: a guard that the listener creates from the settings. The listener adds its own addresses to the guard. */
  readonly guard?: Guard;
  /** Verifies clients of listeners that require certificates. Default: these listeners accept no client. */
  readonly createClientVerifier?: CreateClientVerifier;
  /** The present OCSP responses for TLS handshakes. Default: there are none. */
  readonly stapledResponses?: () => StapledResponses;
}

export interface ProxyListener {
  readonly address: ListenAddress;
  /** Null without a TLS listener. */
  readonly tlsAddress: ListenAddress | null;
  readonly streamAddresses: readonly StreamListenAddress[];
  /** Sums of the counts of all listeners, with and without TLS. */
  readonly connections: () => Connections;
  /**
   * Opens and closes ports, so that exactly these are open in addition to the listener's own addresses. The connections
   * of a closed port end as in `close`, within `settings.drain` milliseconds. Resolves to the ports that cannot be
   * opened. Must not be called before the previous call has ended.
   */
  openPorts(ports: readonly DocumentPort[]): Promise<readonly PortFailure[]>;
  /** Bytes held on behalf of clients, as `ClientMemory` counts them. */
  readonly memory: () => number;
  /**
   * Stops accepting connections. Connections that already wait in the system's queue are accepted first, because the
   * system would reset them when the listening socket closes. Open connections are still served.
   */
  stopAccepting(): Promise<void>;
  /**
   * Drains the listener: it accepts no new connections and closes idle ones; requests under way get their response,
   * tunnels stay open. After `deadline` milliseconds (default 30 s) the remaining connections are destroyed.
   */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  readonly deadline?: number;
  /**
   * True: an idle connection stays open for one more request, whose response announces the end of the connection. A
   * client may have sent that request already, and would lose it if the connection were closed. With HTTP/2 this is not
   * needed: GOAWAY tells the client which of its requests were not processed, and the client sends them again (RFC 9113
   * section 8.7). Default false.
   */
  readonly keepIdle?: boolean;
}

/** Rejects when listening fails; the error has Node's `code`, such as EADDRINUSE. */
export type CreateProxy = (options: ProxyOptions) => Promise<ProxyListener>;
