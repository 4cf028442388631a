/** The HTTP side of the admin listener: what every answer has in common. */
import type { Log } from "@sluice/crds";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Store } from "../stores/store.ts";
import { decodeBody } from "./body.ts";
import { endpoints } from "./endpoints.ts";
import { badRequest, forbidden, type HttpError, methodNotAllowed, notFound } from "./errors.ts";
import { httpErrorOf } from "./failure.ts";
import { refusal } from "./guard.ts";
import { type Handlers, handlersOf, METHODS, type Method } from "./handlers.ts";
import type { RenderedMetrics } from "./metrics.ts";
import type { Call } from "./operations.ts";
import { programmedHeaders } from "./wait.ts";

export interface ListenerOptions {
  readonly store: Store;
  readonly log: Log;
  /** The host that is listened on. */
  readonly host: string;
  readonly serverName: string;
  /** Name of the header with the milliseconds that the answer took. */
  readonly latencyName: string;
  readonly information: Readonly<Record<string, () => Promise<object>>>;
  readonly metrics: () => Promise<RenderedMetrics>;
  /** Milliseconds that a write waits for the nodes. */
  readonly wait: number;
  /** Ends those waits: the listener is about to stop. */
  readonly closing: AbortSignal;
}

const BODY_LIMIT = 10 * 1024 * 1024;

/** Longer than any key, percent-encoded. */
const MAX_PARAMETER = 8192;

export function createListener(options: ListenerOptions): FastifyInstance {
  const { store, log, host, serverName, latencyName, information, metrics, wait, closing } = options;
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER },
    frameworkErrors: (_error, request, reply) => answerError(badRequest("the URL is not well-formed"), request, reply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: unknown, bytes: Buffer) => bytes);

  const began = new WeakMap<FastifyRequest, number>();
  app.addHook("onRequest", async (request) => {
    began.set(request, performance.now());
    const { method, url, headers, raw } = request;
    const { host: asked, origin, "sec-fetch-site": fetchSite } = headers;
    const [path = ""] = url.split("?");
    const refused = refusal(
      { method, path, host: asked, origin, fetchSite: Array.isArray(fetchSite) ? fetchSite[0] : fetchSite },
      host,
    );
    if (refused !== undefined) throw forbidden(refused);
    if (repeats(raw.rawHeaders, "content-type")) throw badRequest("Content-Type is given more than once");
  });
  app.addHook("onSend", async (request, reply) => {
    const now = performance.now();
    reply.header("server", serverName).header(latencyName, Math.round(now - (began.get(request) ?? now)));
  });

  for (const endpoint of endpoints) {
    serve(endpoint.url, handlersOf(endpoint), (request) => {
      const [path = "", query = ""] = request.url.split("?");
      return {
        store,
        endpoint,
        params: request.params as Call["params"],
        path: path.length > 1 ? path.replace(/\/$/, "") : path,
        query: new URLSearchParams(query),
        body: () =>
          decodeBody(
            { contentType: request.headers["content-type"], bytes: request.body as Buffer | undefined },
            endpoint.collection,
          ),
      };
    });
  }
  for (const [url, body] of Object.entries(information)) {
    serve(url, { GET: async () => ({ status: 200, body: await body() }) }, () => undefined as never);
  }
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await metrics();
    return reply.header("content-type", contentType).send(text);
  });
  app.setNotFoundHandler((request, reply) => answerError(notFound(), request, reply));
  app.setErrorHandler((error, request, reply) => answerError(httpErrorOf(error, log), request, reply));
  return app;

  /** Null when the listener stops first: nobody can tell then. */
  function untilClosing<Value>(waited: Promise<Value>): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const stop = () => resolve(null);
      closing.addEventListener("abort", stop);
      waited.then(resolve, reject).finally(() => closing.removeEventListener("abort", stop));
    });
  }

  /** One route for all methods, because a wrong one is answered 405 and not 404. */
  function serve(url: string, handlers: Handlers, callOf: (request: FastifyRequest) => Call): void {
    const allowed = METHODS.filter((method) => method === "OPTIONS" || handlers[readAs(method)])
      .sort()
      .join(", ");
    app.route({
      method: [...METHODS],
      url,
      async handler(request, reply) {
        if (request.method === "OPTIONS") return preflight(reply, allowed, request.headers);
        const handler = handlers[readAs(request.method as Method)];
        if (!handler) {
          reply.header("allow", allowed);
          throw methodNotAllowed();
        }
        const { status, body, programmed } = await handler(callOf(request));
        if (programmed) reply.headers(programmedHeaders(await untilClosing(programmed(wait))));
        return body === undefined ? reply.code(status).send() : sendJson(reply.code(status), body);
      },
    });
  }
}

/** HEAD is GET without the body, which the server itself leaves out. */
const readAs = (method: Method): Method => (method === "HEAD" ? "GET" : method);

const sendJson = (reply: FastifyReply, body: unknown) =>
  reply.header("content-type", "application/json; charset=utf-8").send(JSON.stringify(body));

const answerError = ({ status, body }: HttpError, _request: FastifyRequest, reply: FastifyReply) =>
  sendJson(reply.code(status), body);

/** No Access-Control-Allow-Origin: no other site may read what is answered (house decision 14). */
function preflight(reply: FastifyReply, allowed: string, headers: FastifyRequest["headers"]) {
  return reply
    .code(204)
    .header("allow", allowed)
    .header("access-control-allow-methods", allowed)
    .header("access-control-allow-headers", headers["access-control-request-headers"] ?? "Content-Type")
    .send();
}

const repeats = (rawHeaders: readonly string[], wanted: string): boolean =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === wanted).length > 1;
