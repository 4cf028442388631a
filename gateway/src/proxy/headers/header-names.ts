/** Header names that the proxy treats specially. All in lower case. */

import type { ProxySettings } from "../settings.ts";
import { CachedLineHeaderName, HeaderName } from "./header-name.ts";

/** Names of the gateway's own headers. */
export interface GatewayHeaderNames {
  readonly requestId: HeaderName;
  readonly upstreamLatency: HeaderName;
  readonly proxyLatency: HeaderName;
  readonly responseLatency: HeaderName;
  /** All of them in lower case: another gateway of ours in front or behind sends them as well. */
  readonly all: ReadonlySet<string>;
}

/** How the gateway shows itself in headers. */
export interface HeaderStyle {
  readonly names: GatewayHeaderNames;
  /** `sluice/1.2.3` for Server and Via; null leaves both out. */
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

/** 1 for what `foldedName` keeps: letters in lower case, digits and dashes. */
const keptInNames = new Uint8Array(256);
for (const character of "-0123456789abcdefghijklmnopqrstuvwxyz") keptInNames[character.charCodeAt(0)] = 1;

/**
 * A name in lower case with a dash for each character that is neither letter nor digit. Upstreams that make variables of
 * headers write `_` for a dash (RFC 3875 section 4.1.18), and some for other characters too (PHP for a dot, lighttpd for
 * all of them), so that `X.Real_IP` reads as `X-Real-IP` there (RFC 9110 section 17.10).
 */
export function foldedName(lower: string): string {
  for (let at = 0; at < lower.length; at++) {
    if (keptInNames[lower.charCodeAt(at)] !== 1) return lower.replace(/[^\da-z]/g, "-");
  }
  return lower;
}

/** Belong to one connection and not to the message (RFC 9110 section 7.6.1, and what clients make of it). */
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

/** Names that a Connection header's value lists; null when there are none but the usual words. */
export function connectionNames(connection: string | undefined): ReadonlySet<string> | null {
  if (connection === undefined || usualConnections.has(connection)) return null;
  const names = connection.split(",").map((name) => name.trim().toLowerCase());
  return new Set(names);
}

const usualConnections: ReadonlySet<string> = new Set(["keep-alive", "Keep-Alive", "close", "Upgrade", "upgrade"]);
