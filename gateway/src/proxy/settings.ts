/** Start-up settings of the proxy listener. */
import type { ServerOpts } from "node:net";

export interface ListenAddress {
  /** An address or a name; 0.0.0.0 and :: mean every address of the machine. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface ProxySettings {
  /** The version in `Server` and `Via`. */
  readonly version: string;
  /** Names of the gateway's own headers: `sluice` = X-Sluice-*, `kong` = X-Kong-* (SLUICE_COMPAT=kong). */
  readonly naming: "sluice" | "kong";
  /** Whether `Server` and `Via` are sent. */
  readonly serverTokens: boolean;
  /** Whether the latency headers are sent. */
  readonly latencyTokens: boolean;
  /** Addresses and CIDR blocks of proxies in front whose X-Forwarded-* and real-address headers are believed. */
  readonly trustedIps: readonly string[];
  /** Where a trusted proxy writes the client's address. */
  readonly realIpHeader: "x-real-ip" | "x-forwarded-for";
  /**
   * Addresses and CIDR blocks that are connected to although they are refused by default; `address:port`
   * (`[address]:port`) also lets requests through to a listener of the gateway's own.
   */
  readonly allowedUpstreams: readonly string[];
  /** The gateway's other listeners, which are no upstreams; the proxy's own is added by itself. */
  readonly ownListeners: readonly ListenAddress[];
  /** Milliseconds that an idle client connection is kept: longer than usual load balancers keep theirs. */
  readonly keepAliveTimeout: number;
  /** Milliseconds in which a TLS handshake must be done. */
  readonly handshakeTimeout: number;
  /** Milliseconds in which a request's head must have arrived. */
  readonly headersTimeout: number;
  /** Milliseconds that a client may be silent in the middle of its body: then it is answered 408. */
  readonly bodyTimeout: number;
  /** Milliseconds in which a client must take what was written to it. */
  readonly sendTimeout: number;
  /** Bytes a second that a client must send of a body; 0: any. */
  readonly bodyMinRate: number;
  /** Bytes a second that a client must take of what waits for it; 0: any. */
  readonly sendMinRate: number;
  /** Milliseconds after which these two are asked. */
  readonly minRateGrace: number;
  /** Milliseconds of silence after which a client is asked whether it is still there: by TCP, and by PING of HTTP/2. */
  readonly probeInterval: number;
  /** Requests that one connection of a client carries. */
  readonly maxRequests: number;
  /** Connections of clients at a time: those beyond are closed at once. */
  readonly maxConnections: number;
  /** The same of one address; 0: no limit of its own, since many may share one. */
  readonly maxConnectionsPerAddress: number;
  /** Bytes that clients may make this worker hold over all their connections, as `ClientMemory` counts them. */
  readonly clientMemory: number;
  /** Bytes of a request's head; a longer one answers 431. */
  readonly maxHeaderSize: number;
  /** Whether HTTP/2 is also spoken without TLS, with clients that know of it beforehand. Over TLS it always is (ALPN). */
  readonly cleartextHttp2: boolean;
  /** Milliseconds that an idle upstream connection is kept. */
  readonly upstreamKeepAlive: number;
}

export const defaultProxySettings: Omit<ProxySettings, "version"> = {
  naming: "sluice",
  serverTokens: true,
  latencyTokens: true,
  trustedIps: [],
  realIpHeader: "x-real-ip",
  allowedUpstreams: [],
  ownListeners: [],
  keepAliveTimeout: 75_000,
  handshakeTimeout: 10_000,
  headersTimeout: 15_000,
  bodyTimeout: 60_000,
  sendTimeout: 60_000,
  bodyMinRate: 240,
  sendMinRate: 240,
  minRateGrace: 5000,
  probeInterval: 20_000,
  maxRequests: 10_000,
  maxConnections: 16_384,
  maxConnectionsPerAddress: 0,
  clientMemory: 134_217_728,
  maxHeaderSize: 16_384,
  cleartextHttp2: false,
  upstreamKeepAlive: 60_000,
};

/** How sockets of clients are accepted. Node asks ten times, a second apart, before it gives one up that does not answer. */
export const clientSockets = ({ probeInterval }: ProxySettings): ServerOpts => ({
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: probeInterval,
});
