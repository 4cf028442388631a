/** Headers that the proxy handles specially. */

import { CachedLineHeaderName, HeaderName } from "@sluice/plugin-sdk";
import type { ProxySettings } from "../settings.ts";

/** Names of the gateway's own headers. */
export interface GatewayHeaderNames {
  readonly requestId: HeaderName;
  readonly upstreamLatency: HeaderName;
  readonly proxyLatency: HeaderName;
  readonly responseLatency: HeaderName;
  /**
   * All names in lower case. Received headers with these names, such as those of another Sluice gateway, are dropped.
   */
  readonly all: ReadonlySet<string>;
}

/** Identification of the gateway in headers. */
export interface HeaderStyle {
  readonly names: GatewayHeaderNames;
  /** `sluice/1.2.3` for Server and Via; null: it is added to neither. */
  readonly gateway: string | null;
  readonly latencies: boolean;
}

export const headerStyle = ({ naming, version, serverTokens, latencyTokens }: ProxySettings): HeaderStyle => ({
  names: gatewayHeaderNames(naming),
  gateway: serverTokens ? `sluice/${version}` : null,
  latencies: latencyTokens,
});

function gatewayHeaderNames(naming: ProxySettings["naming"]): GatewayHeaderNames {
  const prefix = naming === "kong" ? "X-Kong" : "X-Sluice";
  const names = {
    requestId: new HeaderName(`${prefix}-Request-Id`),
    upstreamLatency: new CachedLineHeaderName(`${prefix}-Upstream-Latency`),
    proxyLatency: new CachedLineHeaderName(`${prefix}-Proxy-Latency`),
    responseLatency: new HeaderName(`${prefix}-Response-Latency`),
  };
  return { ...names, all: new Set(Object.values(names).map(({ lower }) => lower)) };
}

/** Whether a header with this folded name identifies the consumer or the client to the upstream. */
export const isIdentityName = (folded: string): boolean =>
  folded.startsWith("x-consumer-") ||
  folded.startsWith("x-credential-") ||
  folded === "x-anonymous-consumer" ||
  folded === "x-authenticated-groups" ||
  folded === "x-client-cert-dn" ||
  folded === "x-client-cert-san";

/** Hop-by-hop headers (RFC 9110 section 7.6.1, and others that clients use as such). */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** Names listed in a Connection header; null when it is absent or a single standard option. */
export function connectionNames(connection: string | undefined): ReadonlySet<string> | null {
  if (connection === undefined || usualConnections.has(connection)) return null;
  const names = connection.split(",").map((name) => name.trim().toLowerCase());
  return new Set(names);
}

const usualConnections: ReadonlySet<string> = new Set(["keep-alive", "Keep-Alive", "close", "Upgrade", "upgrade"]);

/** Receives headers one by one, and collects them as the text of a head or as a list. */
export interface HeaderSink {
  add(header: HeaderName, value: string): void;
}

/** Flat list: name, value, name, value. */
export class HeaderList implements HeaderSink {
  readonly headers: string[];

  constructor(headers: string[] = []) {
    this.headers = headers;
  }

  add({ name }: HeaderName, value: string): void {
    this.headers.push(name, value);
  }
}
