/** The HTTP side of the admin listener: everything that responses have in common. */
import { constants } from "node:crypto";
import { METHODS as httpMethods, type IncomingMessage, STATUS_CODES } from "node:http";
import type { ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { TLSSocket } from "node:tls";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type BrowserPolicy, browserRefusal, isAllowedOrigin, isForeignHost } from "./access/browser-guard.ts";
import type { AdminAccess, AdminTls } from "./access/open-access.ts";
import type { AdminContext } from "./context.ts";
import { METHODS, type Method, type MethodHandlers } from "./entities/routes.ts";
import { badRequest, forbidden, type HttpError, methodNotAllowed, notFound, toHttpError } from "./http/errors.ts";
import { nodesMetrics } from "./information/nodes/node-metrics.ts";
import { KONG_VERSION } from "./information/root.ts";
import type { AdminRequest, AdminResponse } from "./requests.ts";
import { adminRoutes } from "./routes.ts";
import { programmedHeaders } from "./writes/response-headers.ts";

interface AdminListenerOptions {
  readonly access: Pick<AdminAccess, "authorize" | "tls" | "requiresToken">;
  /** Aborts the waits for nodes when the listener stops. */
  readonly closing: AbortSignal;
}

const BODY_LIMIT = 10 * 1024 * 1024;

/** Longer than any percent-encoded key. */
const MAX_PARAMETER = 8192;

export function createListener(context: AdminContext, { access, closing }: AdminListenerOptions): FastifyInstance {
  const { log, version, settings } = context;
  const { listen, wait, compat, hosts, origins } = settings;
  const browserPolicy: BrowserPolicy = {
    listenHost: listen.host,
    scheme: access.tls ? "https" : "http",
    hosts,
    origins,
    anyHost: access.requiresToken,
  };
  const [serverName, latencyName] =
    compat === "kong"
      ? [`kong/${KONG_VERSION}`, "X-Kong-Admin-Latency"]
      : [`sluice/${version}`, "X-Sluice-Admin-Latency"];
  const app: FastifyInstance = Fastify({
    ...(access.tls && { https: httpsOptions(access.tls) }),
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER },
    clientErrorHandler: refuseUnread,
    frameworkErrors: (_error, request, reply) => answerError(badRequest("the URL is not well-formed"), request, reply),
  });
  for (const method of httpMethods) {
    // Methods that Fastify does not know are added, so that they are answered like any other wrong method.
    if (!app.supportedMethods.includes(method) && method !== "CONNECT") app.addHttpMethod(method, { hasBody: true });
  }
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: unknown, bytes: Buffer) => bytes);

  const trusted = new WeakSet<FastifyRequest>();
  const authors = new WeakMap<FastifyRequest, string>();
  app.addHook("onRequest", async (request) => {
    const { method, url, headers, raw } = request;
    const { host: asked, origin, "sec-fetch-site": fetchSite } = headers;
    const [path = ""] = url.split("?");
    const refused = browserRefusal(
      { method, path, host: asked, origin, fetchSite: Array.isArray(fetchSite) ? fetchSite[0] : fetchSite },
      browserPolicy,
    );
    if (refused !== undefined) throw forbidden(refused);
    const certificate = certificateSubject(raw.socket);
    const caller = await access.authorize({ method, url: request.routeOptions.url, headers, certificate });
    if (caller !== null) authors.set(request, storableName(caller));
    if (caller !== null && !isForeignHost(asked, browserPolicy)) trusted.add(request);
    if (repeats(raw.rawHeaders, "content-type")) throw badRequest("Content-Type is given more than once");
  });
  app.addHook("onSend", async (request, reply) => {
    reply.header("server", serverName).header(latencyName, Math.round(reply.elapsedTime));
    reply.headers(corsHeaders(request.headers.origin, origins));
  });

  for (const { url, handlers } of adminRoutes(context)) serve(url, handlers);
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await nodesMetrics(context.fleet);
    return reply.header("content-type", contentType).send(Readable.from(text));
  });
  app.setNotFoundHandler((request, reply) => answerError(notFound(), request, reply));
  app.setErrorHandler(async (error, request, reply) => {
    const httpError = toHttpError(error, log);
    if (httpError.status === 413) await drainBody(request.raw);
    return answerError(httpError, request, reply);
  });
  return app;

  /** Resolves to the awaited value, or to null if the listener stops before the value is known. */
  function untilClosing<Value>(waited: Promise<Value>): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const stop = () => resolve(null);
      closing.addEventListener("abort", stop);
      waited.then(resolve, reject).finally(() => closing.removeEventListener("abort", stop));
    });
  }

  /** One route for all methods, because a wrong method is answered with 405 instead of 404. */
  function serve(url: string, handlers: MethodHandlers): void {
    const allowed = METHODS.filter((method) => method === "OPTIONS" || handlers[readAs(method)])
      .sort()
      .join(", ");
    app.route({
      method: app.supportedMethods,
      url,
      async handler(request, reply) {
        if (request.method === "OPTIONS") return preflight(reply, allowed, request.headers);
        const handler = handlers[readAs(request.method as Method)];
        if (!handler) {
          reply.header("allow", allowed);
          throw methodNotAllowed();
        }
        const {
          status,
          headers = {},
          body,
          programmed,
        }: AdminResponse = await handler(
          receivedOf(request, { trusted: trusted.has(request), author: authors.get(request) ?? "unknown" }),
        );
        reply.headers(headers);
        if (programmed) {
          const from = performance.now();
          reply.headers(programmedHeaders(await untilClosing(programmed(wait))));
          // The part of the response time that was spent waiting for the nodes (W3C Server Timing).
          reply.header("server-timing", `nodes;dur=${(performance.now() - from).toFixed(1)}`);
        }
        return body === undefined ? reply.code(status).send() : reply.code(status).send(body);
      },
    });
  }
}

/** The subject of a client's verified certificate; null: there is none. */
function certificateSubject(socket: Socket): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  return socket.getPeerX509Certificate()?.subject?.replaceAll("\n", ", ") ?? "without a subject";
}

const MAX_NAME = 256;

/** The first characters of the name; characters that a store cannot hold are replaced. */
const storableName = (name: string): string =>
  name
    .slice(0, MAX_NAME)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, " ");

function receivedOf(
  { method, url, params, headers, body }: FastifyRequest,
  caller: Pick<AdminRequest, "trusted" | "author">,
): AdminRequest {
  const [path = "", query = ""] = url.split("?");
  return {
    method,
    path: path.length > 1 ? path.replace(/\/$/, "") : path,
    endsInSlash: path.endsWith("/"),
    query: new URLSearchParams(query),
    params: params as AdminRequest["params"],
    headers,
    bytes: body as Buffer | undefined,
    ...caller,
  };
}

/** HEAD is handled as GET; the server omits the body. */
const readAs = (method: Method): Method => (method === "HEAD" ? "GET" : method);

const answerError = ({ status, body, headers }: HttpError, _request: FastifyRequest, reply: FastifyReply) =>
  reply.code(status).headers(headers).send(body);

/** Pages of another origin may read responses only if a setting names the origin. */
function corsHeaders(origin: string | undefined, origins: readonly string[]): Readonly<Record<string, string>> {
  if (origins.length === 0) return {};
  if (origin === undefined || !isAllowedOrigin(origin, origins)) return { vary: "Origin" };
  return {
    vary: "Origin",
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers":
      "ETag, Retry-After, X-Sluice-Programmed, X-Sluice-Lagging, X-Sluice-Problem, X-Sluice-Warning",
  };
}

const httpsOptions = ({ cert, key, ca }: AdminTls): ServerOptions => ({
  cert,
  key,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  // A client without a valid certificate may still have a token: the authorizer checks each request.
  ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: false }),
});

function preflight(reply: FastifyReply, allowed: string, headers: FastifyRequest["headers"]) {
  return reply
    .code(204)
    .header("allow", allowed)
    .header("access-control-allow-methods", allowed)
    .header("access-control-allow-headers", headers["access-control-request-headers"] ?? "Content-Type")
    .send();
}

/** Input that Node's parser could not read, as Node reports it. */
interface Unread {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

/** Answers input that Node's parser rejects: a request with an unknown method, or no HTTP at all. */
function refuseUnread({ code, rawPacket }: Unread, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const head = Buffer.isBuffer(rawPacket) ? rawPacket.toString("latin1") : "";
  const isMethod = code === "HPE_INVALID_METHOD" && /^[A-Za-z-]+ \S+ HTTP\//.test(head);
  const { status, body } = isMethod ? methodNotAllowed() : badRequest("the request is not HTTP");
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

const repeats = (rawHeaders: readonly string[], wanted: string): boolean =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === wanted).length > 1;

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_MILLISECONDS = 5000;

/**
 * Reads and discards the rest of a body. A client that is still sending when the connection closes would get a
 * connection error instead of the response. The limits on size and time are for clients that send too much or too
 * slowly.
 */
function drainBody(incoming: IncomingMessage): Promise<void> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(settle, MAX_MILLISECONDS);
    incoming.on("data", count).on("end", settle).on("error", settle).on("close", settle).resume();

    function count(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) settle();
    }
    function settle(): void {
      clearTimeout(timer);
      incoming.off("data", count).off("end", settle).off("close", settle);
      resolve();
    }
  });
}
