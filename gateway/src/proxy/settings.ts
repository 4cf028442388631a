/** Start-up settings of the proxy listener. */
import type { ServerOpts } from "node:net";
import { type ClientTls, clientTlsOf } from "../settings/client-tls.ts";
import { type GatewaySettings, gatewaySettings } from "../settings/commands/gateway.ts";
import { defaultsOf } from "../settings/defaults.ts";

export interface ListenAddress {
  /** IP address or host name; 0.0.0.0 and :: mean every address of the machine. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

/** The address of a listener for connections that are not HTTP. */
export interface StreamListenAddress extends ListenAddress {
  /** Whether the clients use TLS. */
  readonly tls: boolean;
}

/** Settings that a node and its proxy listener both have; `workerPlan` adapts `probeInterval` and `clientMemory`. */
const ofNode = [
  "proxyProtocol",
  "trustedIps",
  "realIpHeader",
  "allowedUpstreams",
  "dnsResolver",
  "zone",
  "keepAliveTimeout",
  "headersTimeout",
  "bodyTimeout",
  "sendTimeout",
  "bodyMinRate",
  "sendMinRate",
  "minRateGrace",
  "probeInterval",
  "maxRequests",
  "maxConnections",
  "maxConnectionsPerAddress",
  "clientMemory",
  "cleartextHttp2",
  "drain",
] as const;

/** The limits on connections apply to all workers together; `clientMemory` is this worker's share. */
export interface ProxySettings extends Pick<GatewaySettings, (typeof ofNode)[number]> {
  /** The version in `Server` and `Via`. */
  readonly version: string;
  /** Names of the gateway's own headers: `sluice` = X-Sluice-*, `kong` = X-Kong-* (SLUICE_COMPAT=kong). */
  readonly naming: "sluice" | "kong";
  /** Whether `Server` and `Via` are sent. */
  readonly serverTokens: boolean;
  /** Whether the latency headers are sent. */
  readonly latencyTokens: boolean;
  /** The gateway's other listeners, which upstreams may not use; the proxy adds its own addresses itself. */
  readonly ownListeners: readonly ListenAddress[];
  /** Versions and cipher suites of TLS with clients. */
  readonly clientTls: ClientTls;
  /** Milliseconds after which an unfinished TLS handshake is aborted. */
  readonly handshakeTimeout: number;
  /** Maximum bytes of a request's headers; a request with longer headers is answered with 431. */
  readonly maxHeaderSize: number;
  /** Milliseconds for which an idle upstream connection is kept. */
  readonly upstreamKeepAlive: number;
}

/** @throws SettingsError for invalid cipher suites */
export function proxySettingsOf(settings: GatewaySettings): Omit<ProxySettings, "version"> {
  const shared = Object.fromEntries(ofNode.map((name) => [name, settings[name]]));
  return {
    ...(shared as Pick<GatewaySettings, (typeof ofNode)[number]>),
    naming: settings.compat,
    serverTokens: true,
    latencyTokens: true,
    ownListeners: [],
    clientTls: clientTlsOf(settings),
    handshakeTimeout: 10_000,
    maxHeaderSize: 16_384,
    upstreamKeepAlive: 60_000,
  };
}

export const defaultProxySettings = proxySettingsOf(defaultsOf(gatewaySettings));

/**
 * Socket options of client connections. With Node's settings, a connection ends after ten unanswered keep-alive
 * probes, one per second.
 */
export const clientSockets = ({ probeInterval }: ProxySettings): ServerOpts => ({
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: probeInterval,
});
