/** Which requests may use the cache, that is, be answered from it and have their responses stored in it. */
import { CACHEABLE_OPERATION, type Exchange, type ExchangeRequest, hasRequestBody } from "@sluice/plugin-sdk";
import type { Directives } from "./directives.ts";
import type { ProxyCacheConfig } from "./schema.ts";

/** Maximum bytes of a request's body that is part of the key. */
const MAX_REQUEST_BODY = 1_048_576;

/** Headers in which some upstreams read a method or target other than that of the request line. */
export const replacingHeaders = [
  ...["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"],
] as const;

/**
 * Beside `replacingHeaders`, the headers that ask for a part of the response or another protocol. The response to a
 * request with one of them must not be served for other requests.
 */
const uncachedHeaders = [...replacingHeaders, "range", "upgrade"] as const;

export function mayUseCache(request: ExchangeRequest, methods: ReadonlySet<string>): boolean {
  return methods.has(request.method) && uncachedHeaders.every((name) => request.header(name) === undefined);
}

/** Whether the client forbids the use of the cache (RFC 9111 section 5.2.1). */
export const forbidsCache = (directives: Directives): boolean =>
  directives.has("no-store") || directives.has("no-cache");

/**
 * The body that is part of the key; null or empty: the request has none. `refused`: the request must not use the cache,
 * because its body is too long, or because it is a GET or HEAD request with a body, which has no meaning (RFC 9110
 * section 9.3.1).
 */
export function readRequestBody(
  request: ExchangeRequest,
): Buffer | null | "refused" | Promise<Buffer | null | "refused"> {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return request.body(MAX_REQUEST_BODY).then((body) => body ?? "refused");
  const result = (hasBody: boolean) => (hasBody ? "refused" : null);
  const hasBody = hasRequestBody(request);
  return hasBody instanceof Promise ? hasBody.then(result) : result(hasBody);
}

/**
 * Whether the response may be for a user whom the cache key does not name: the upstream may read Authorization, which
 * `vary_headers` does not add to the key, and the gateway has not identified the consumer. The same holds for the
 * cookies of a GraphQL query: one URL serves all data of the service, and browsers send their sessions with every query.
 * Such a request does not use the cache. False with `cache_control`, because the Cache-Control header of the response
 * then decides.
 */
export function isPersonal(
  { request, consumer, anonymous, shared }: Exchange,
  { cache_control, vary_headers }: ProxyCacheConfig,
): boolean {
  if (cache_control || (consumer !== null && !anonymous)) return false;
  const personal = shared.has(CACHEABLE_OPERATION)
    ? (["authorization", "cookie"] as const)
    : (["authorization"] as const);
  return personal.some(
    (name) =>
      request.header(name) !== undefined && vary_headers?.some((varied) => varied.toLowerCase() === name) !== true,
  );
}
