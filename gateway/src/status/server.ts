/**
 * Answers GET and HEAD on a few paths with plain node:http. That module is loaded anyway; a web framework would cost
 * every node memory for a handful of responses.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Not imported, because an import of node:http costs memory; see proxy/response/reason-phrases.ts. */
const { createServer } = process.getBuiltinModule("node:http");

export interface StatusResponse {
  /** Default 200. */
  readonly status?: number;
  /** An object is sent as JSON. */
  readonly body: object | StreamedText;
}

/** A text that is generated while it is sent. A piece must stay valid until the next piece is requested. */
export class StreamedText {
  readonly contentType: string;
  readonly pieces: () => AsyncIterable<string | Uint8Array>;

  constructor(contentType: string, pieces: () => AsyncIterable<string | Uint8Array>) {
    this.contentType = contentType;
    this.pieces = pieces;
  }
}

/** The handlers by path, without a trailing slash. */
export type StatusRoutes = Readonly<
  Record<string, (headers: IncomingHttpHeaders) => StatusResponse | Promise<StatusResponse>>
>;

export interface StatusServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Closes the listener and all its connections, even those with open requests. */
  close(): Promise<void>;
}

/** Milliseconds after which an idle connection is closed. */
const KEEP_ALIVE = 72_000;

/** Rejects when the address cannot be listened on. */
export async function startStatusServer(
  answers: StatusRoutes,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<StatusServer> {
  const server = createServer((request, response) => void respond(answers, request, response));
  server.keepAliveTimeout = KEEP_ALIVE;
  server.listen({ host, port });
  await once(server, "listening");
  const bound = server.address() as AddressInfo;
  return {
    address: { host: bound.address, port: bound.port },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(answers: StatusRoutes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status = 200, body } = await answerTo(answers, request);
  if (body instanceof StreamedText) {
    response.writeHead(status, { "content-type": body.contentType });
    if (request.method !== "HEAD") await send(body, response);
    response.end();
    return;
  }
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": length });
  response.end(request.method === "HEAD" ? undefined : text);
}

/** Ends early when the client disconnects, which is not an error. */
async function send({ pieces }: StreamedText, response: ServerResponse): Promise<void> {
  const closed = new Promise((resolve) => response.once("close", resolve));
  for await (const piece of pieces()) {
    if (response.destroyed) return;
    const written = new Promise((resolve) => response.write(piece, resolve));
    await Promise.race([written, closed]);
  }
}

async function answerTo(
  answers: StatusRoutes,
  { method, url = "", headers }: IncomingMessage,
): Promise<StatusResponse> {
  const path = url.split("?", 1)[0]?.replace(/(?<=.)\/$/, "") ?? "";
  const reads = method === "GET" || method === "HEAD";
  const answer = reads && Object.hasOwn(answers, path) ? answers[path] : undefined;
  if (!answer) return { status: 404, body: { message: "Not found" } };
  try {
    return await answer(headers);
  } catch (error) {
    return { status: 500, body: { message: error instanceof Error ? error.message : String(error) } };
  }
}
