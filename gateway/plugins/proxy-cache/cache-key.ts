/**
 * The key of a cached response: a hash of what the response may depend on. As in Kong, it is made of the client's
 * method, path and query parameters, the route, the consumer, and configured headers as earlier plugins have changed
 * them. It also covers further properties that the upstream may use: the body, the scheme and host, headers that state
 * them differently, the service, the identity of a user who is no consumer, and the method and target that other plugins
 * have set. The parts are joined without ambiguity.
 */
import { hash } from "node:crypto";
import { CACHEABLE_OPERATION, DOCUMENT_HASH, type Exchange, foldedName, lowerCase } from "@sluice/plugin-sdk";
import { replacingHeaders } from "./requests.ts";
import type { ProxyCacheConfig } from "./schema.ts";

/** Calculates the key as 64 hex digits. `body` is null for a request without a body. */
export type KeyOf = (exchange: Exchange, body: Buffer | null) => string;

export function createKeyOf(config: ProxyCacheConfig): KeyOf {
  const headers = (config.vary_headers ?? []).map(lowerCase).sort();
  const parameters = config.vary_query_params ?? [];
  const select = parameters.length === 0 ? null : new Set(parameters);
  return (exchange, body) => {
    const { request, consumer, credential, authenticatedGroups, route, service } = exchange;
    const { method, host, scheme, path, query } = request;
    const parts = [
      [
        consumer?.id,
        consumer === null ? credential?.id : undefined,
        authenticatedGroups,
        exchange.shared.get("forward_auth_headers"),
      ],
      [route.id, service?.id],
      [method, scheme, host, ...originHeaders(request.rawHeaders)],
      config.ignore_uri_case ? path.toLowerCase() : path,
      parametersOf(query, select),
      headers.map((name) => exchange.upstreamHeaderValues(name)),
      [
        exchange.upstreamMethod === method ? null : exchange.upstreamMethod,
        exchange.upstreamPath,
        select === null && exchange.upstreamQuery !== query ? exchange.upstreamQuery : null,
      ],
      body === null ? null : hash("sha256", body),
      // The body may only name a document; and services of GraphQL choose the media type of results by Accept.
      ...(exchange.shared.get(CACHEABLE_OPERATION) === true
        ? [[exchange.shared.get(DOCUMENT_HASH), exchange.upstreamHeaderValues("accept")]]
        : []),
    ];
    return hash("sha256", JSON.stringify(parts));
  };
}

/**
 * Headers in which some upstreams read the host, scheme or path that the client used, to make links and redirects of
 * them. Beside these, all headers that begin with `X-Forwarded-`.
 */
const originNames: ReadonlySet<string> = new Set([
  ...["forwarded", "x-host", "x-http-host-override", "x-original-host", "x-url-scheme", "front-end-https"],
  ...replacingHeaders,
]);

/** The character codes with which these names begin. */
const FIRST_LETTERS: ReadonlySet<number> = new Set([..."fFxX"].map((letter) => letter.charCodeAt(0)));

const NONE: readonly string[] = [];

/**
 * Names and values of the headers by which a client, or a proxy in front of the gateway, can make an upstream see
 * another URL. Names are compared as upstreams may read them: `X_Original_URL` is `X-Original-URL` to some.
 * X-Forwarded-For is left out, because each client has another value.
 *
 * @param headers Names and values in turn
 */
function originHeaders(headers: readonly string[]): readonly string[] {
  let found = NONE;
  for (let at = 0; at < headers.length; at += 2) {
    const sent = headers[at] ?? "";
    // Most headers have other names, and need no further comparison.
    if (!FIRST_LETTERS.has(sent.charCodeAt(0))) continue;
    const name = foldedName(lowerCase(sent));
    const isOrigin = originNames.has(name) || (name.startsWith("x-forwarded-") && name !== "x-forwarded-for");
    if (isOrigin) found = [...found, name, headers[at + 1] ?? ""];
  }
  return found;
}

/**
 * The selected parameters as the client sent them, because upstreams decode them in different ways. They are sorted by
 * name; parameters of the same name keep their order, because some upstreams use the first and others the last.
 *
 * @param select Decoded names; null: all. Parameters with `;` are always selected, because some upstreams split them
 */
function parametersOf(query: string, select: ReadonlySet<string> | null): readonly string[] {
  if (query.length < 2) return [];
  const all = query.slice(1).split("&");
  const kept = select === null ? all : all.filter((one) => one.includes(";") || select.has(decodedName(one)));
  return kept.length < 2 ? kept : kept.toSorted((one, other) => compared(nameOf(one), nameOf(other)));
}

const nameOf = (parameter: string): string => parameter.split("=", 1)[0] ?? "";

function decodedName(parameter: string): string {
  const name = nameOf(parameter).replaceAll("+", " ");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const compared = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/** The key of a response that depends on the headers `vary`: a hash of `key`, and of the values that are forwarded. */
export const variantKey = (key: string, vary: readonly Lowercase<string>[], exchange: Exchange): string =>
  hash("sha256", JSON.stringify([key, vary.map((name) => [name, exchange.upstreamHeaderValues(name)])]));
