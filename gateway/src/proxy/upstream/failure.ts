/** What an error of an upstream connection means to the client, and whether another try may help. */
import type { FailureSignal } from "../../balance/health.ts";
import type { GatewayErrorName } from "../response/gateway-errors.ts";

export const errorCodeOf = (error: Error): string =>
  "code" in error && typeof error.code === "string" ? error.code : "";

/** Error names of Node and undici, by the response to the client. The rest is `badUpstream`. */
const meanings: Readonly<Record<string, GatewayErrorName>> = {
  ENOTFOUND: "nameResolution",
  EAI_AGAIN: "nameResolution",
  EAI_FAIL: "nameResolution",
  EAI_NODATA: "nameResolution",
  EAI_NONAME: "nameResolution",
  SLUICE_FORBIDDEN_ADDRESS: "upstreamDown",
  SLUICE_READ_TIMEOUT: "upstreamTimeout",
  SLUICE_WRITE_TIMEOUT: "upstreamTimeout",
  SLUICE_TUNNEL_TIMEOUT: "upstreamTimeout",
  ETIMEDOUT: "upstreamTimeout",
};

export const gatewayErrorFor = (error: Error): GatewayErrorName => meanings[errorCodeOf(error)] ?? "badUpstream";

/** Errors before a connection was there that the next try would meet again at the same target. */
const FINAL: ReadonlySet<GatewayErrorName> = new Set<GatewayErrorName>(["nameResolution", "upstreamDown"]);

/** A connection that broke under a request: an upstream that closed an idle one at the moment it was taken. */
const BROKEN: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

export interface FailedTry {
  readonly error: Error;
  /** Whether the request had a connection. */
  readonly connected: boolean;
  readonly method: string;
  /** Whether a byte of the body may have left. */
  readonly bodyBegun: boolean;
  /** Whether the next try goes to another target. */
  readonly hasOtherTarget: boolean;
}

export function mayRetry({ error, connected, method, bodyBegun, hasOtherTarget }: FailedTry): boolean {
  if (bodyBegun) return false;
  if (!connected) return hasOtherTarget || !FINAL.has(gatewayErrorFor(error));
  return BROKEN.has(errorCodeOf(error)) && IDEMPOTENT.has(method);
}

/**
 * Errors of connections that nobody takes. What the guard refuses is none of them: a refused endpoint must not be reached by
 * way of its core Service's address.
 */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ETIMEDOUT",
  "SLUICE_TUNNEL_TIMEOUT",
]);

export const isUnreachable = ({ error, connected }: Pick<FailedTry, "error" | "connected">): boolean =>
  !connected && UNREACHABLE.has(errorCodeOf(error));

export interface BrokenTry {
  readonly error: Error;
  /** Whether the request had a connection. */
  readonly connected: boolean;
  /** Whether the connection may have been made for the request, and not kept from one before. */
  readonly fresh: boolean;
}

/**
 * What a failed try tells of its target's health; null: nothing, because the client may have been the cause, or the
 * target may have closed an idle connection, as anyone may at any time.
 */
export function failureSignalOf({ error, connected, fresh }: BrokenTry): FailureSignal | null {
  if (gatewayErrorFor(error) === "upstreamTimeout") return "timeouts";
  const code = errorCodeOf(error);
  if (!connected || code.startsWith("HPE_")) return "tcp_failures";
  return fresh && BROKEN.has(code) ? "tcp_failures" : null;
}
