/** Responses of the gateway's own, ready to be written (kong-contract 2.3 and 2.4). */
import { messageForm } from "./answer-body.ts";
import { milliseconds } from "./client-headers.ts";
import type { Answer } from "./exchange.ts";
import type { HeaderStyle } from "./header-names.ts";
import type { IncomingRequest } from "./request.ts";

export interface OwnResponse {
  readonly status: number;
  /** Flat, with Content-Length. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface OwnResponseOptions {
  readonly style: HeaderStyle;
  readonly id: string;
  /** Null when not even the head could be read. */
  readonly request: IncomingRequest | null;
  /** By `performance.now()`. */
  readonly started: number;
}

export function ownResponse(
  answer: Answer & { readonly transport?: true },
  { style, id, request, started }: OwnResponseOptions,
): OwnResponse {
  const headers: string[] = [];
  for (const [name, value] of Object.entries(answer.headers ?? {})) headers.push(name, value);
  let body = answer.body ?? "";
  if (answer.body === undefined && answer.message !== undefined) {
    const message = { status: answer.status, text: answer.message, requestId: id };
    const form = messageForm({
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
  if (style.latencies) headers.push(style.names.responseLatency.name, milliseconds(performance.now() - started));
  headers.push(style.names.requestId.name, id);
  return { status: answer.status, headers, body };
}
