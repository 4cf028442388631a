/** Start-up settings of the proxy listener. */
import type { ServerOpts } from "node:net";

export interface ListenAddress {
  /** IP address or host name; 0.0.0.0 and :: mean every address of the machine. */
  readonly host: string;
  /** 0 selects a free port. */
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
  /** Addresses and CIDR blocks of proxies whose X-Forwarded-* and real-address headers are trusted. */
  readonly trustedIps: readonly string[];
  /** Header in which a trusted proxy sends the client's address. */
  readonly realIpHeader: "x-real-ip" | "x-forwarded-for";
  /**
   * Addresses and CIDR blocks that upstreams may use although they are refused by default. `address:port`
   * (`[address]:port`) also allows requests to one of the gateway's own listeners.
   */
  readonly allowedUpstreams: readonly string[];
  /** The gateway's other listeners, which upstreams may not use; the proxy adds its own addresses itself. */
  readonly ownListeners: readonly ListenAddress[];
  /** Milliseconds that an idle client connection is kept: longer than common load balancers keep theirs. */
  readonly keepAliveTimeout: number;
  /** Milliseconds after which an unfinished TLS handshake is aborted. */
  readonly handshakeTimeout: number;
  /** Milliseconds within which a request's head must arrive. */
  readonly headersTimeout: number;
  /** Milliseconds without data in the middle of a request body after which the client is answered 408. */
  readonly bodyTimeout: number;
  /** Milliseconds within which a client must read some of the data written to it. */
  readonly sendTimeout: number;
  /** Minimum rate of a request body in bytes per second; 0: no minimum. */
  readonly bodyMinRate: number;
  /** Minimum rate, in bytes per second, at which a client must read its response; 0: no minimum. */
  readonly sendMinRate: number;
  /** Milliseconds of grace before the two minimum rates apply. */
  readonly minRateGrace: number;
  /** Milliseconds without traffic after which a client is probed: by TCP keep-alive, and by PING in HTTP/2. */
  readonly probeInterval: number;
  /** Requests per client connection. */
  readonly maxRequests: number;
  /** Concurrent client connections; further ones are closed at once. */
  readonly maxConnections: number;
  /** Concurrent connections per client address; 0: no limit, since many clients may share one address. */
  readonly maxConnectionsPerAddress: number;
  /** Bytes that this worker may hold for clients over all their connections, as `ClientMemory` counts them. */
  readonly clientMemory: number;
  /** Maximum bytes of a request head; a longer one is answered 431. */
  readonly maxHeaderSize: number;
  /** Whether cleartext HTTP/2 with prior knowledge is accepted. Over TLS, ALPN always offers HTTP/2. */
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

/** Socket options of client connections. Node closes a connection after ten unanswered probes, one second apart. */
export const clientSockets = ({ probeInterval }: ProxySettings): ServerOpts => ({
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: probeInterval,
});
