/**
 * Answers GET at a few paths, on node:http itself: that is in memory already, and every node would take a web framework
 * along for four answers.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Not by an import; see proxy/response/reason-phrases.ts. */
const { createServer } = process.getBuiltinModule("node:http");

export interface Answer {
  /** Default 200. */
  readonly status?: number;
  /** An object is sent as JSON. */
  readonly body: object | Text;
}

/** A text that is made as it is read. */
export class Text {
  readonly contentType: string;
  readonly pieces: () => AsyncIterable<string>;

  constructor(contentType: string, pieces: () => AsyncIterable<string>) {
    this.contentType = contentType;
    this.pieces = pieces;
  }
}

/** By path, without a slash at its end. */
export type Answers = Readonly<Record<string, (headers: IncomingHttpHeaders) => Answer | Promise<Answer>>>;

export interface StatusServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Cuts off what is under way. */
  close(): Promise<void>;
}

/** Milliseconds. */
const KEEP_ALIVE = 72_000;

/** Rejects when the address cannot be listened on. */
export async function startStatusServer(
  answers: Answers,
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

async function respond(answers: Answers, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status = 200, body } = await answerTo(answers, request);
  if (body instanceof Text) {
    response.writeHead(status, { "content-type": body.contentType });
    if (request.method === "HEAD") response.end();
    // A reader that goes early is nobody's fault.
    else await pipeline(Readable.from(body.pieces()), response).catch(() => undefined);
    return;
  }
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": length });
  response.end(request.method === "HEAD" ? undefined : text);
}

async function answerTo(answers: Answers, { method, url = "", headers }: IncomingMessage): Promise<Answer> {
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
