/** Responses of the gateway's own, ready to be written. */

import type { DirectResponse } from "../../exchange/exchange.ts";
import type { IncomingRequest } from "../exchange/request.ts";
import { formatMilliseconds } from "../headers/client-headers.ts";
import type { HeaderStyle } from "../headers/header-names.ts";
import { chooseMessageFormat } from "./message-format.ts";

export interface GatewayResponse {
  readonly status: number;
  /** Flat list, including Content-Length. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface GatewayResponseOptions {
  readonly style: HeaderStyle;
  readonly id: string;
  /** Null when the head could not be parsed. */
  readonly request: IncomingRequest | null;
  /** By `performance.now()`. */
  readonly started: number;
}

export function createGatewayResponse(
  answer: DirectResponse & { readonly transport?: true },
  { style, id, request, started }: GatewayResponseOptions,
): GatewayResponse {
  const headers: string[] = [];
  for (const [name, value] of Object.entries(answer.headers ?? {})) headers.push(name, value);
  let body = answer.body ?? "";
  if (answer.body === undefined && answer.message !== undefined) {
    const message = { status: answer.status, text: answer.message, requestId: id };
    const form = chooseMessageFormat({
      accept: request?.header("accept"),
      contentType: request?.header("content-type"),
      transport: answer.transport === true,
    });
    body = form.render(message);
    headers.push("Content-Type", form.contentType);
    for (const [name, value] of Object.entries(form.headers?.(message) ?? {})) headers.push(name, value);
  }
  headers.push("Content-Length", String(Buffer.byteLength(body)));
  if (style.gateway !== null) headers.push("Server", style.gateway);
  if (style.latencies) headers.push(style.names.responseLatency.name, formatMilliseconds(performance.now() - started));
  headers.push(style.names.requestId.name, id);
  return { status: answer.status, headers, body };
}
