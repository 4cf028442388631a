/** Finds faults that the http1 engine refuses and Node or undici accepts, if the parsed head still shows them. */
import type { IncomingMessage } from "node:http";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { HOST } from "../exchange/request.ts";
import { connectionNames } from "../headers/header-names.ts";
import type { RawHeaders } from "../headers/raw-headers.ts";
import { defaultHeadLimits } from "../http1/parse/head-parser.ts";

/**
 * The most options in `Connection`, as in the http1 engine, except that `keep-alive`, `close` and `upgrade` in a list
 * count too.
 */
const MOST_CONNECTION_OPTIONS = 32;

/** Digits without leading zeros: parsers disagree on other forms (RFC 9110 section 8.6). */
const LENGTH = /^(?:0|[1-9]\d{0,15})$/;

/** Finds faults in the head of a request. Null for a valid head. */
export function gatewayErrorInHead(incoming: IncomingMessage, target: string): GatewayErrorName | null {
  const { httpVersion, headers, headersDistinct, rawHeaders, method = "" } = incoming;
  if (`${method} ${target} HTTP/1.1\r\n`.length > defaultHeadLimits.line) return "targetTooLong";
  if (rawHeaders.length / 2 > defaultHeadLimits.count) return "headTooLarge";
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "unknownVersion";
  if (!HOST.test(headers.host ?? "")) return "badRequest";
  const hosts = headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) return "badRequest";
  const options = connectionNames(headers.connection);
  if (options !== null && options.size > MOST_CONNECTION_OPTIONS) return "badRequest";
  return bodyFault(incoming) ?? expectationFault(incoming);
}

function bodyFault({ httpVersion, headers }: IncomingMessage): GatewayErrorName | null {
  const length = headers["content-length"];
  if (length !== undefined && !(LENGTH.test(length) && Number.isSafeInteger(Number(length)))) return "badRequest";
  const coding = headers["transfer-encoding"]?.toLowerCase();
  if (coding === undefined || (coding === "chunked" && httpVersion === "1.1")) return null;
  // In HTTP/1.0 Transfer-Encoding is a framing fault (RFC 9112 section 6.1). The gateway does not decode codings before
  // `chunked`.
  return httpVersion === "1.1" && UNKNOWN_CODING.test(coding) ? "unknownCoding" : "badRequest";
}

/** A list of at least two codings, with a single `chunked`, at its end. */
const UNKNOWN_CODING = /^(?:(?!chunked[\t ]*,)[!#$%&'*+\-.^_`|~\da-z]+[\t ]*,[\t ]*)+chunked$/;

/** Only 100-continue is defined, and HTTP/1.0 has no expectations (RFC 9110 section 10.1.1). */
function expectationFault({ httpVersion, headers: { expect } }: IncomingMessage): GatewayErrorName | null {
  return expect === undefined || httpVersion === "1.0" || expect.toLowerCase() === "100-continue"
    ? null
    : "unknownExpectation";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/**
 * Finds faults in the head of an upstream's response.
 *
 * @returns The reason for the log; null for a valid head
 */
export function malformedResponseReason(headers: RawHeaders, reason: string): string | null {
  if (CONTROL.test(reason)) return "its reason phrase holds a control character";
  let codings = 0;
  for (let at = 0; at < headers.length; at += 2) {
    if (String(headers[at]).toLowerCase() !== "transfer-encoding") continue;
    if (++codings > 1 || String(headers[at + 1]).toLowerCase() !== "chunked") return "its transfer coding is unknown";
  }
  return null;
}
