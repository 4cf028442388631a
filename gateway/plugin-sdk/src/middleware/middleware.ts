/** Plugins as functions from a `Request` to a `Response` of the Fetch API, as in Hono and Cloudflare Workers. */
import type { DirectResponse, Exchange } from "../exchange/exchange.ts";
import type { HeldResponse } from "../exchange/held-response.ts";
import type { PluginPhases } from "../plugin.ts";
import { ExchangeValues } from "../tools/exchange-values.ts";
import { applyRequest, RequestBodyTooLongError, unsuitableRequest, webRequest } from "./web-request.ts";
import { ResponseBodyTooLongError, WebResponse } from "./web-response.ts";

/**
 * Forwards the method, path, query, headers and body of the given request. Default: the client's request. Resolves when
 * the head of the response has arrived. Rejects if the client disconnects before that, and whenever it is called again.
 */
export type Next = (request?: Request) => Promise<Response>;

/**
 * Returns the response to which `next` resolves, or a different one. The body of the response from `next` streams to
 * the client unless the middleware reads it, or returns it with a different status.
 */
export type Middleware = (request: Request, next: Next, exchange: Exchange) => Response | Promise<Response>;

export interface MiddlewareOptions {
  /**
   * Maximum bytes of a body that the middleware reads. A longer request body results in the response 413, a longer
   * response body in 502. Default: 1 MiB.
   */
  readonly bodyLimit?: number;
}

/**
 * The phases of a plugin that call a middleware, the handler. For each request they create a `Request` and a
 * `Response`, so they cost more than phases that a plugin implements itself: see docs/how-to/write-middleware.md.
 */
export function middleware(handler: Middleware, { bodyLimit = 1024 * 1024 }: MiddlewareOptions = {}): PluginPhases {
  /** The calls of the handler that have forwarded their requests, until the responses arrive. */
  const waiting = new ExchangeValues<MiddlewareCall>();
  return {
    async access(exchange) {
      const refusal = unsuitableRequest(exchange.request);
      if (refusal !== undefined) return refusal;
      const call = new MiddlewareCall(exchange, { handler, bodyLimit });
      const response = await withBodyRefusals(call.begin());
      if (response === undefined) waiting.set(exchange, call);
      return response;
    },
    response(exchange, held) {
      const call = waiting.get(exchange);
      waiting.delete(exchange);
      return call && withBodyRefusals(call.resume(held));
    },
    log(exchange) {
      waiting.get(exchange)?.lose();
    },
  };
}

/** One call of a handler. */
class MiddlewareCall {
  readonly #exchange: Exchange;
  readonly #bodyLimit: number;
  readonly #request: Request;
  readonly #forwarded = Promise.withResolvers<undefined>();
  readonly #arrived = Promise.withResolvers<Response>();
  readonly #returned: Promise<Response>;
  #hasCalledNext = false;
  #isForwarded = false;

  constructor(
    exchange: Exchange,
    { handler, bodyLimit }: { readonly handler: Middleware; readonly bodyLimit: number },
  ) {
    this.#exchange = exchange;
    this.#bodyLimit = bodyLimit;
    this.#request = webRequest(exchange.request, () => this.#readBody());
    this.#returned = this.#call(handler);
  }

  /** Resolves to undefined when the request is to be forwarded, or to the handler's own response. */
  async begin(): Promise<DirectResponse | undefined> {
    const own = await Promise.race([this.#forwarded.promise, this.#returned]);
    return own && directResponse(own);
  }

  /**
   * Passes the response to the handler. Resolves to the response that replaces it; undefined: the original response is
   * sent, with edited headers.
   */
  async resume(held: HeldResponse): Promise<DirectResponse | undefined> {
    const shown = new WebResponse(held, this.#bodyLimit);
    this.#arrived.resolve(shown.response);
    return shown.replacement(await this.#returned, this.#exchange);
  }

  /** Called at the end of the exchange: a handler that still waits for a response gets an error. */
  lose(): void {
    // Prevents an unhandled rejection if the handler does not wait for the response.
    this.#arrived.promise.catch(() => {});
    this.#arrived.reject(new Error("the exchange ended before a response"));
  }

  async #call(handler: Middleware): Promise<Response> {
    const response = await handler(this.#request, this.#next, this.#exchange);
    if (!(response instanceof Response)) throw new TypeError("a middleware must return a Response");
    return response;
  }

  readonly #next: Next = (changed = this.#request) => {
    const response = this.#forward(changed);
    // Prevents an unhandled rejection if the handler does not wait for the response.
    response.catch(() => {});
    return response;
  };

  async #forward(changed: Request): Promise<Response> {
    if (this.#hasCalledNext) throw new TypeError("a middleware must call next at most once");
    this.#hasCalledNext = true;
    await applyRequest(this.#exchange, this.#request, changed);
    this.#isForwarded = true;
    this.#forwarded.resolve(undefined);
    return this.#arrived.promise;
  }

  async #readBody(): Promise<Buffer | null> {
    if (this.#isForwarded) throw new TypeError("the body of the request has been forwarded: read it before next");
    return this.#exchange.request.body(this.#bodyLimit);
  }
}

/** Turns errors of bodies that are too long into responses. */
async function withBodyRefusals(response: Promise<DirectResponse | undefined>): Promise<DirectResponse | undefined> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof RequestBodyTooLongError) return { status: 413, message: "Request size limit exceeded" };
    if (error instanceof ResponseBodyTooLongError) return { status: 502, message: BAD_RESPONSE, reason: error.message };
    throw error;
  }
}

/** Kong's message when an upstream's response cannot be sent. */
const BAD_RESPONSE = "An invalid response was received from the upstream server";

async function directResponse(response: Response): Promise<DirectResponse> {
  const headers: Record<string, string | readonly string[]> = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  // Several cookies cannot be joined in one header line (RFC 6265 section 3).
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return { status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) };
}
