/** Responses that the gateway itself generates, ready to be written. */

import { type DirectResponse, wireValue } from "@sluice/plugin-sdk";
import { errorAnswer, type GatewayErrorName, gatewayErrors } from "../../exchange/gateway-errors.ts";
import type { IncomingRequest } from "../exchange/request.ts";
import { formatMilliseconds } from "../headers/client-headers.ts";
import type { HeaderStyle } from "../headers/header-names.ts";
import { failureReason } from "../upstream/failure.ts";
import { responseFault } from "./response-fault.ts";

const LENGTH = "content-length";
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const FIRST_FINAL_STATUS = 200;
const FIRST_REDIRECTION = 300;
const LAST_STATUS = 599;

export interface GatewayResponse {
  readonly status: number;
  /** Flat list, with Content-Length unless the status allows no body. */
  readonly headers: readonly string[];
  /** Text is sent as UTF-8. */
  readonly body: string | Buffer;
  /** Whether the headers are those of an upstream's response, to which the gateway adds its own headers. */
  readonly isKept: boolean;
}

export interface GatewayResponseOptions {
  readonly style: HeaderStyle;
  readonly id: string;
  /** Null when the head could not be parsed. */
  readonly request: IncomingRequest | null;
  /** When the request arrived, by `performance.now()`. */
  readonly started: number;
}

export function createGatewayResponse(
  answer: DirectResponse & { readonly transport?: true },
  { style, id, request, started }: GatewayResponseOptions,
): GatewayResponse {
  // Packages in JavaScript may write null for an absent member.
  if (answer.keptHeaders) return keptResponse(answer, answer.keptHeaders, request);
  const headers: string[] = [];
  const isBodiless = answer.status === NO_CONTENT || answer.status === NOT_MODIFIED;
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    if (typeof value === "string") headers.push(name, wireValue(value));
    else for (const one of value) headers.push(name, wireValue(one));
  }
  let body = answer.body ?? "";
  const data: string | undefined = JSON.stringify(answer.json ?? undefined);
  const text = data ?? answer.message ?? undefined;
  if ((answer.body ?? undefined) === undefined && text !== undefined) {
    const message = { status: answer.status, text, requestId: id };
    const form = chooseMessageFormat({
      accept: data === undefined ? request?.header("accept") : json.contentType,
      contentType: request?.header("content-type"),
      transport: answer.transport === true,
    });
    body = form === json && data !== undefined ? data : form.render(message);
    headers.push("Content-Type", form.contentType);
    for (const [name, value] of Object.entries(form.headers?.(message) ?? {})) headers.push(name, value);
  }
  // A client would read the body of a 204 or 304 as the start of the next response (RFC 9112 section 6.3).
  if (isBodiless) body = "";
  else headers.push("Content-Length", String(Buffer.byteLength(body)));
  if (style.gateway !== null) headers.push("Server", style.gateway);
  if (style.latencies) headers.push(style.names.responseLatency.name, formatMilliseconds(performance.now() - started));
  headers.push(style.names.requestId.name, id);
  return { status: answer.status, headers, body, isKept: false };
}

/**
 * Replaces a response by an error when it is none (see `responseFault`), when its status is interim (1xx, RFC 9110
 * section 15.2), after which the client would wait for the final response, or above 599, which is invalid (section 15)
 * and cannot be sent over HTTP/2.
 *
 * @param opensBySuccess Whether a 2xx is replaced too, because it would open a WebSocket without an upstream
 */
export function finalResponse(response: DirectResponse, opensBySuccess: boolean): DirectResponse {
  const fault = responseFault(response);
  if (fault !== null) return errorAnswer("unexpected", `a plugin answered with ${fault}`);
  const { status } = response;
  if (status < FIRST_FINAL_STATUS || status > LAST_STATUS)
    return errorAnswer("unexpected", `a plugin answered with the status ${status}, not one from 200 to 599`);
  if (status >= FIRST_REDIRECTION || !opensBySuccess) return response;
  return errorAnswer("unexpected", `a plugin answered with the status ${status}, which would open a WebSocket`);
}

/**
 * The human-readable reason for one of the gateway's own responses: the `reason` of the answer, else its message.
 *
 * @param cause The error of the upstream that led to this response; null: there was none
 */
export function responseReason(answer: DirectResponse | GatewayErrorName, cause: Error | null): string {
  if (typeof answer === "string")
    return cause === null ? gatewayErrors[answer].message : `the upstream failed: ${failureReason(cause)}`;
  const { message } = Object(answer.json) as { readonly message?: unknown };
  const text = typeof message === "string" ? message : answer.message;
  return answer.reason ?? text ?? `a plugin answered with status ${answer.status}`;
}

function keptResponse(
  { status, body: given }: DirectResponse,
  kept: readonly string[],
  request: IncomingRequest | null,
): GatewayResponse {
  const body = given ?? "";
  if (status === NO_CONTENT || status === NOT_MODIFIED) return { status, headers: kept, body: "", isKept: true };
  // In a response to HEAD, Content-Length is not the length of this body.
  if (request?.method === "HEAD") return { status, headers: kept, body: "", isKept: true };
  const headers: string[] = [];
  for (let at = 0; at < kept.length; at += 2) {
    const name = kept[at] ?? "";
    if (name.length !== LENGTH.length || name.toLowerCase() !== LENGTH) headers.push(name, kept[at + 1] ?? "");
  }
  headers.push("Content-Length", String(Buffer.byteLength(body)));
  return { status, headers, body, isKept: true };
}

interface ErrorMessage {
  readonly status: number;
  readonly text: string;
  readonly requestId: string;
}

/** How an error message is written in one media type. */
interface MessageFormat {
  readonly contentType: string;
  /** Headers in addition to Content-Type. */
  readonly headers?: (message: ErrorMessage) => Readonly<Record<string, string>>;
  readonly render: (message: ErrorMessage) => string;
}

const json: MessageFormat = {
  contentType: "application/json; charset=utf-8",
  render: ({ text, requestId }) => JSON.stringify({ message: text, request_id: requestId }),
};

const plain: MessageFormat = {
  contentType: "text/plain; charset=utf-8",
  render: ({ text, requestId }) => `${text}\nrequest_id: ${requestId}\n`,
};

const html: MessageFormat = {
  contentType: "text/html; charset=utf-8",
  render: ({ text, requestId }) =>
    `<!doctype html>
<html>
  <head>
    <meta charset="utf-8">
    <title>Error</title>
  </head>
  <body>
    <h1>Error</h1>
    <p>${escapeMarkup(text)}.</p>
    <p>request_id: ${requestId}</p>
  </body>
</html>
`,
};

const xml: MessageFormat = {
  contentType: "application/xml; charset=utf-8",
  render: ({ text, requestId }) =>
    `<?xml version="1.0" encoding="UTF-8"?>
<error>
  <message>${escapeMarkup(text)}</message>
  <requestid>${requestId}</requestid>
</error>
`,
};

/** gRPC clients read the status from headers. The codes follow gRPC's own mapping of HTTP statuses. */
const grpc: MessageFormat = {
  contentType: "application/grpc",
  headers: ({ status, text }) => ({
    "grpc-status": String(grpcCodes.get(status) ?? 2),
    "grpc-message": percentEncoded(text),
  }),
  render: () => "",
};

/** The encoding of grpc-message (gRPC over HTTP/2): printable ASCII except `%` stays unchanged. */
const percentEncoded = (text: string): string => text.toWellFormed().replace(/[^ -~]|%/gu, encodeURIComponent);

const grpcCodes: ReadonlyMap<number, number> = new Map([
  [400, 13],
  [401, 16],
  [403, 7],
  [404, 12],
  [429, 14],
  [502, 14],
  [503, 14],
  [504, 14],
]);

const forms: ReadonlyMap<string, MessageFormat> = new Map([
  ["application/json", json],
  ["application/*", json],
  ["*/*", json],
  ["text/html", html],
  ["text/*", html],
  ["application/xhtml+xml", html],
  ["text/plain", plain],
  ["application/xml", xml],
  ["text/xml", xml],
  ["application/grpc", grpc],
]);

const escapeMarkup = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

interface FormatPreferences {
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  /** True for errors that nginx generates in Kong. */
  readonly transport: boolean;
}

/**
 * Returns gRPC's format for gRPC requests; otherwise JSON, unless the client prefers another supported format, as in
 * Kong. Without Accept, transport errors have the format of the request's Content-Type, or plain text.
 */
function chooseMessageFormat({ accept, contentType, transport }: FormatPreferences): MessageFormat {
  if (contentType?.startsWith("application/grpc")) return grpc;
  if (accept === undefined || accept === "") {
    return transport ? (forms.get(mediaType(contentType ?? "")) ?? plain) : json;
  }
  if (accept === "*/*") return json;
  const wanted = accept
    .split(",")
    .map((range) => ({ type: mediaType(range), quality: qualityOf(range) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality);
  for (const { type } of wanted) {
    const form = forms.get(type);
    if (form) return form;
  }
  return json;
}

const mediaType = (range: string): string => (range.split(";", 1)[0] ?? "").trim().toLowerCase();

const qualityOf = (range: string): number => {
  const quality = Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1);
  return Number.isNaN(quality) ? 0 : quality;
};
