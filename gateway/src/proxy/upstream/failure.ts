/** Errors of calls to upstreams, and their effects: on the response to the client, on retries and on health. */

import type { PeerCertificate } from "node:tls";
import type { SnapshotService } from "@sluice/model/serving";
import type { FailureSignal } from "../../balance/health.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const closedEarly = () => new UpstreamError("ECONNRESET", "the upstream closed the connection");

/** The members of a service that its timeouts name. */
type TimedService = Pick<SnapshotService, "id" | "name" | "read_timeout" | "write_timeout">;

const serviceText = ({ id, name }: TimedService): string => `service ${name ?? id}`;

export const readTimeout = (service: TimedService) =>
  new UpstreamError(
    "SLUICE_READ_TIMEOUT",
    `the upstream sent no data for ${service.read_timeout} ms (read_timeout of ${serviceText(service)})`,
  );
export const writeTimeout = (service: TimedService) =>
  new UpstreamError(
    "SLUICE_WRITE_TIMEOUT",
    `the upstream accepted no data for ${service.write_timeout} ms (write_timeout of ${serviceText(service)})`,
  );
/** @param milliseconds The target's timeout: connections of several services may share a target */
export const connectTimeout = (milliseconds: number) =>
  new UpstreamError(
    "ETIMEDOUT",
    `no connection to the upstream was established within ${milliseconds} ms (connect_timeout)`,
  );
export const attemptTimeout = () =>
  new UpstreamError("SLUICE_ATTEMPT_TIMEOUT", "the upstream did not complete its response within the route's timeout");
export const requestTimeout = () =>
  new UpstreamError("SLUICE_REQUEST_TIMEOUT", "the request and its attempts took longer than the route's timeout");
export const retriedStatus = (status: number) =>
  new UpstreamError("SLUICE_RETRIED_STATUS", `the upstream answered ${status}, and the request is sent again`);
export const unaskedProtocol = () => unreadable("it switches to a protocol that the client did not ask for");
export const wrongAccept = () => unreadable("its Sec-WebSocket-Accept does not match the key of the request");
export const tooManyInterims = () => unreadable("too many interim responses precede it");
export const chainTooLong = () =>
  new UpstreamError("CERT_CHAIN_TOO_LONG", "the upstream's certificate chain is longer than tls_verify_depth");
/** @param reason A clause about the response, such as `it is not HTTP/2` */
export const unreadable = (reason: string) =>
  new UpstreamError("HPE_INVALID", `the upstream's response is unusable: ${reason}`);

export const errorCodeOf = (error: Error): string =>
  "code" in error && typeof error.code === "string" ? error.code : "";

/** The members of a certificate that a reason shows. TLSSocket.getPeerCertificate returns none if there is none. */
type ShownCertificate = Partial<Pick<PeerCertificate, "subject" | "valid_from" | "valid_to">>;

/** Maximum characters of a certificate's name in a reason. */
const MAX_SUBJECT = 100;

/** The codes of OpenSSL for a certificate that is not valid at this time, with the words for it. */
const validityCodes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
};

/**
 * The error of a TLS handshake, with the certificate that is not valid at this time.
 *
 * @param certificate That of the server; null: it is not known
 * @param now Unix milliseconds
 */
export function withCertificate(error: Error, certificate: ShownCertificate | null, now = Date.now()): Error {
  const code = errorCodeOf(error);
  const fault = validityCodes[code];
  const { subject, valid_from, valid_to } = certificate ?? {};
  if (fault === undefined || !subject || !valid_from || !valid_to) return error;
  const name = String(subject.CN ?? "without a common name")
    .replaceAll(/\p{Cc}/gu, " ")
    .slice(0, MAX_SUBJECT);
  const isValid = Date.parse(valid_from) <= now && now <= Date.parse(valid_to);
  const what = isValid
    ? `a CA certificate of the upstream's chain ${fault}; the server's certificate, subject ${name}, is valid`
    : `the server's certificate, subject ${name}, is valid from ${valid_from} to ${valid_to}`;
  return new UpstreamError(code, `${error.message}: ${what}`);
}

/**
 * The error's message. A failed connection to a name with several addresses causes an AggregateError without a message,
 * with one error per address.
 */
export function failureReason(error: Error): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(failureReason).join("; ");
  return error.message || errorCodeOf(error) || error.name;
}

/** Responses to the client by error code. Errors with any other code, or none, are answered with `badUpstream`. */
const meanings: Readonly<Record<string, GatewayErrorName>> = {
  ENOTFOUND: "nameResolution",
  EAI_AGAIN: "nameResolution",
  EAI_FAIL: "nameResolution",
  EAI_NODATA: "nameResolution",
  EAI_NONAME: "nameResolution",
  SLUICE_FORBIDDEN_ADDRESS: "upstreamDown",
  SLUICE_READ_TIMEOUT: "upstreamTimeout",
  SLUICE_WRITE_TIMEOUT: "upstreamTimeout",
  SLUICE_ATTEMPT_TIMEOUT: "upstreamTimeout",
  SLUICE_REQUEST_TIMEOUT: "upstreamTimeout",
  ETIMEDOUT: "upstreamTimeout",
};

export const gatewayErrorFor = (error: Error): GatewayErrorName => meanings[errorCodeOf(error)] ?? "badUpstream";

/** Errors of connection attempts that would recur in a retry at the same target. */
const FINAL: ReadonlySet<GatewayErrorName> = new Set<GatewayErrorName>(["nameResolution", "upstreamDown"]);

/** Codes of broken connections, such as an idle connection that the upstream closed just as it was reused. */
const BROKEN: ReadonlySet<string> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

export interface FailedTry {
  readonly error: Error;
  /** Whether the request was sent on a connection, so that the upstream may have processed it. */
  readonly connected: boolean;
  readonly method: string;
  /** Whether a byte of the body may have been sent that was not kept. */
  readonly bodyBegun: boolean;
  /** Whether the next attempt uses another target. */
  readonly hasOtherTarget: boolean;
  /** Whether an attempt that timed out after the request was sent is repeated. Default false. */
  readonly repeatsTimeouts?: boolean;
}

export function mayRetry(failed: FailedTry): boolean {
  const { error, connected, method, bodyBegun, hasOtherTarget, repeatsTimeouts = false } = failed;
  if (bodyBegun) return false;
  if (!connected) return hasOtherTarget || !FINAL.has(gatewayErrorFor(error));
  const isRepeated =
    BROKEN.has(errorCodeOf(error)) || (repeatsTimeouts && gatewayErrorFor(error) === "upstreamTimeout");
  return isRepeated && IDEMPOTENT.has(method);
}

/**
 * Errors of connection attempts that show that the target could not be reached. Refusals by the guard are excluded: a
 * refused endpoint must not be reached through the address of its core Service instead.
 */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ETIMEDOUT",
]);

export const isUnreachable = ({ error, connected }: Pick<FailedTry, "error" | "connected">): boolean =>
  !connected && UNREACHABLE.has(errorCodeOf(error));

export interface BrokenTry {
  readonly error: Error;
  /** Whether the request was sent on a connection. */
  readonly connected: boolean;
  /** Whether the connection may have been opened for this request rather than reused. */
  readonly fresh: boolean;
}

/**
 * The effect of a failed attempt on its target's health. Null: no effect, because the client may have caused the
 * failure, or because the target may have closed an idle connection, which is always allowed.
 */
export function failureSignalOf({ error, connected, fresh }: BrokenTry): FailureSignal | null {
  if (gatewayErrorFor(error) === "upstreamTimeout") return "timeouts";
  const code = errorCodeOf(error);
  if (!connected || code.startsWith("HPE_")) return "tcp_failures";
  return fresh && BROKEN.has(code) ? "tcp_failures" : null;
}

/** Maximum number of interim responses before a final response. */
const MAX_INTERIMS = 100;
/** Maximum bytes of the heads of these interim responses together. */
const MAX_INTERIM_BYTES = 131_072;

/**
 * Limits the interim responses (RFC 9110 section 15.2) before one final response: they are not subject to flow control,
 * so nothing else bounds them.
 */
export class InterimResponseLimit {
  #count = 0;
  #bytes = 0;

  /** Prepares for the next response. */
  reset(): void {
    this.#count = 0;
    this.#bytes = 0;
  }

  /** Returns false when this interim response exceeds a limit. */
  allows(bytes: number): boolean {
    this.#count++;
    this.#bytes += bytes;
    return this.#count <= MAX_INTERIMS && this.#bytes <= MAX_INTERIM_BYTES;
  }
}
