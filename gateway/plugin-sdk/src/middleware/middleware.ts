/** Plugins as functions from a `Request` to a `Response` of the Fetch API, as in Hono and Cloudflare Workers. */
import type { DirectResponse, Exchange } from "../exchange/exchange.ts";
import type { PluginPhases } from "../plugin.ts";
import { applyRequest, FORBIDDEN_METHODS, RequestBodyTooLongError, webRequest } from "./web-request.ts";

/** The response of the upstream, which has not arrived when `next` resolves: nothing of it can be read. */
export interface ForwardedResponse {
  /** Edits of the headers that the client receives. */
  readonly headers: Pick<Headers, "set" | "append" | "delete">;
}

/**
 * Takes the method, path, query, headers and body to forward from the request, or from the one that is given instead.
 * The gateway forwards them after the middleware has returned.
 */
export type Next = (request?: Request) => Promise<ForwardedResponse>;

type Result = Response | ForwardedResponse;

/** Returns the result of `next`, or a response of its own, which ends the request. */
export type Middleware = (request: Request, next: Next, exchange: Exchange) => Result | Promise<Result>;

export interface MiddlewareOptions {
  /** Maximum bytes of a body that the middleware reads; the response to a longer one is 413. Default: 1 MiB. */
  readonly bodyLimit?: number;
}

/**
 * The phases of a plugin whose handler is a middleware. For each request it creates a `Request`, which costs more than
 * the phase `access`: see docs/how-to/write-middleware.md.
 */
export function middleware(handler: Middleware, { bodyLimit = 1024 * 1024 }: MiddlewareOptions = {}): PluginPhases {
  return {
    async access(exchange) {
      if (FORBIDDEN_METHODS.has(exchange.request.method)) return { status: 405, message: "Method not allowed" };
      const request = webRequest(exchange.request, bodyLimit);
      let forwarded: ForwardedResponse | undefined;
      const next: Next = async (changed = request) => {
        if (forwarded !== undefined) throw new TypeError("a middleware must call next at most once");
        forwarded = { headers: headerEdits(exchange) };
        await applyRequest(exchange, request, changed);
        return forwarded;
      };
      try {
        const response = await handler(request, next, exchange);
        return response === forwarded ? undefined : await directResponse(response, exchange);
      } catch (error) {
        if (error instanceof RequestBodyTooLongError) return { status: 413, message: "Request size limit exceeded" };
        throw error;
      }
    },
  };
}

const headerEdits = ({ responseHeaders: edits }: Exchange): ForwardedResponse["headers"] => ({
  set: (name, value) => edits.set(name, value),
  append: (name, value) => edits.append(name, value),
  delete: (name) => edits.remove(name),
});

const decoder = new TextDecoder("utf-8", { fatal: true });

/** @throws TypeError for a value that is not a Response, and for a body that is not UTF-8 */
async function directResponse(response: Result, exchange: Exchange): Promise<DirectResponse> {
  if (!(response instanceof Response)) throw new TypeError("a middleware must return a Response");
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) {
    // Several cookies cannot be joined in one header line (RFC 6265 section 3).
    if (name === "set-cookie") exchange.responseHeaders.append("Set-Cookie", value);
    else headers[name] = value;
  }
  return { status: response.status, headers, body: decoder.decode(await response.arrayBuffer()) };
}
