/**
 * The HTTP side of the push listener. It uses plain node:http, because Fastify took a fifth longer for a push. If the
 * node has one worker, requests of clients wait during that time.
 */
import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { PemTexts } from "@sluice/model";

/** An import of this module would cost memory; see proxy/response/reason-phrases.ts. */
const { createServer } = process.getBuiltinModule("node:http");

/** The requests of the push protocol (push.ts, plugin-endpoint.ts and fleet-view.ts of @sluice/model). */
const requests = {
  "GET /document": "state",
  "PUT /document": "document",
  "PATCH /document": "change",
  "PUT /view": "view",
  "POST /plugins": "plugin",
} as const;

export type PushRequest = (typeof requests)[keyof typeof requests];

export interface PushAnswer {
  readonly status: number;
  readonly body: object;
}

export interface PushServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Clients must present a certificate signed by `ca`. Absent: no TLS. */
  readonly tls?: PemTexts;
  /** Maximum bytes of a document or change. */
  readonly maxBytes: number;
  /** Why the caller is not authorized; null when it is. Called before the body is read. */
  readonly authenticationFault: (request: IncomingMessage) => string | null;
  /** @param body The parsed JSON, not yet validated; undefined for `state`. */
  readonly answer: (request: PushRequest, body: unknown) => Promise<PushAnswer>;
}

export interface PushServer {
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Uses these certificates for new connections; existing connections are closed after their next response. Requires
   * the option `tls`.
   *
   * @throws when certificate and key do not match; then nothing changes.
   */
  renew(tls: PemTexts): void;
  /** Closes the listener and cuts off open requests. */
  stop(): Promise<void>;
}

/** Maximum bytes of a view, and of a request to an endpoint of a plugin. */
const MAX_CALL = 1024 * 1024;
const FIXED = { minVersion: "TLSv1.3" } as const;
/**
 * Milliseconds after which an idle connection is closed; longer than the operator's own timeout. With very many nodes,
 * the operator polls each of them only every few minutes. If the node closed an idle connection, the operator would
 * assume the end of the node's process.
 */
const KEEP_ALIVE = 612_000;

/** Rejects when the address cannot be listened on. */
export async function startPushServer(options: PushServerOptions): Promise<PushServer> {
  const { listen, tls } = options;
  /** Connections that were accepted with the current certificates. */
  let current = new WeakSet<Socket>();
  const serve: RequestListener = (request, response) => {
    const { socket } = request;
    answerTo(request, options).then(
      (answer) => send(response, answer, current.has(socket)),
      (error: unknown) => send(response, { status: 500, body: { message: messageOf(error) } }, current.has(socket)),
    );
  };
  const tlsServer = tls && createTlsServer({ ...tls, ...FIXED, requestCert: true, rejectUnauthorized: true }, serve);
  const server = tlsServer ?? createServer(serve);
  server.on(tlsServer ? "secureConnection" : "connection", (socket: Socket) => current.add(socket));
  server.keepAliveTimeout = KEEP_ALIVE;
  server.listen({ host: listen.host, port: listen.port });
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    address: { host: address, port },
    renew(texts) {
      tlsServer?.setSecureContext({ ...texts, ...FIXED });
      current = new WeakSet();
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const refusal = (status: number, message: string): PushAnswer => ({ status, body: { message } });

async function answerTo(request: IncomingMessage, options: PushServerOptions): Promise<PushAnswer> {
  const { authenticationFault, answer } = options;
  const reason = authenticationFault(request);
  if (reason !== null) return refusal(401, `not the operator: ${reason}`);
  const { method, url = "", headers } = request;
  const name = `${method} ${url.split("?", 1)[0]}`;
  if (!isPushRequest(name)) return refusal(404, "Not found");
  const asked = requests[name];
  if (asked === "state") return answer(asked, undefined);
  if (!/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return refusal(415, "the body must be JSON");
  const coding = headers["content-encoding"] ?? "identity";
  if (coding !== "identity" && coding !== "gzip") return refusal(415, "the body may be encoded only with gzip");
  const maxBytes = asked === "plugin" || asked === "view" ? MAX_CALL : options.maxBytes;
  const tooLong = refusal(413, `the body has more than ${maxBytes} bytes`);
  const sent = await bodyOf(request, maxBytes);
  if (sent === null) return tooLong;
  const text = coding === "gzip" ? await unzipped(sent, maxBytes) : sent.toString();
  if (text === null) return tooLong;
  if (text === undefined) return refusal(400, "the body is not valid gzip");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refusal(400, "the body is not JSON");
  }
  return answer(asked, body);
}

const isPushRequest = (name: string): name is keyof typeof requests => Object.hasOwn(requests, name);

/** Null when the body is too long. Rejects when it is cut off. */
function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        chunks.length = 0;
        resolve(null);
      } else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
  });
}

const gunzipped = promisify(gunzip);

/** Null when the result is too long, undefined when the bytes cannot be decompressed. */
async function unzipped(bytes: Buffer, maxBytes: number): Promise<string | null | undefined> {
  try {
    return (await gunzipped(bytes, { maxOutputLength: maxBytes })).toString();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? null : undefined;
  }
}

function send(response: ServerResponse, { status, body }: PushAnswer, stays: boolean): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    // Closes the connection after a body that is too long, and after a renewal of the certificates.
    ...((status === 413 || !stays) && { connection: "close" }),
  });
  response.end(text);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
