/** A client's request as a `Request` of the Fetch API, and the changes of a middleware to it. */
import type { DirectResponse, Exchange, ExchangeRequest } from "../exchange/exchange.ts";
import { connectionHeaders, lowerCase } from "../exchange/header-name.ts";
import { lazyBody } from "./web-body.ts";

/** Headers that the gateway itself writes for the connection to the upstream. */
const OF_CONNECTION: ReadonlySet<string> = new Set([...connectionHeaders, "host"]);

export class RequestBodyTooLongError extends Error {
  override readonly name = "RequestBodyTooLongError";
}

/** Methods that a `Request` refuses, in any case (https://fetch.spec.whatwg.org/#forbidden-method). */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** The URL of a request. A request of HTTP/1.0 may have no host, but the URL of a `Request` must have one. */
const urlOf = ({ scheme, host, path, query }: ExchangeRequest): string =>
  `${scheme}://${host || "localhost"}${path}${query}`;

/** The response to a request that cannot be a `Request`; undefined: it can be. */
export function unsuitableRequest(request: ExchangeRequest): DirectResponse | undefined {
  if (FORBIDDEN_METHODS.has(request.method.toUpperCase())) return { status: 405, message: "Method not allowed" };
  // The Host header may have other characters, and last labels that are numbers (https://url.spec.whatwg.org/#host-parsing).
  if (!URL.canParse(urlOf(request))) return { status: 400, message: "Bad request" };
  return undefined;
}

/**
 * A client's request as a `Request`. Its body is read from the client when the middleware reads it; for GET and HEAD,
 * the `Request` has no body.
 *
 * @param readBody Resolves to null for a body that is longer than the middleware may read
 */
export function webRequest(request: ExchangeRequest, readBody: () => Promise<Buffer | null>): Request {
  const { method, rawHeaders } = request;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const url = urlOf(request);
  if (/^(?:GET|HEAD)$/i.test(method)) return new Request(url, { method, headers });
  const body = lazyBody(readBody, () => new RequestBodyTooLongError("the body of the request is too long"));
  return new Request(url, { method, headers, body, duplex: "half" });
}

/** Changes the request to the upstream where `changed`, which the middleware forwards, differs from the client's. */
export async function applyRequest(exchange: Exchange, original: Request, changed: Request): Promise<void> {
  const { request, upstreamHeaders } = exchange;
  // Not compared with the client's method: a `Request` has DELETE for the method `delete`, which is another one.
  if (changed.method !== original.method) exchange.upstreamMethod = changed.method;
  const { pathname, search } = new URL(changed.url);
  const before = new URL(urlOf(request));
  if (pathname !== before.pathname) exchange.upstreamPath = pathname;
  if (search !== before.search) exchange.upstreamQuery = search;
  for (const [name, value] of changed.headers) {
    if (!OF_CONNECTION.has(name) && value !== request.headerValues(lowerCase(name)).join(", "))
      upstreamHeaders.set(name, value);
  }
  for (const name of new Set(request.rawHeaders.filter((_, at) => at % 2 === 0).map(lowerCase)))
    if (!OF_CONNECTION.has(name) && !changed.headers.has(name)) upstreamHeaders.remove(name);
  // A new `Request` without a body replaces the client's body by an empty one.
  if (changed !== original && (changed.body ?? original.body) !== null)
    exchange.replaceBody(Buffer.from(await changed.arrayBuffer()));
}
