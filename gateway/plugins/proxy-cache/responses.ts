/** Which responses may be stored, and for how long they are fresh. */
import { connectionHeaders, type Exchange, lowerCase } from "@sluice/plugin-sdk";
import { type Directives, directivesOf, secondsIn } from "./directives.ts";
import { createMediaTypeMatch } from "./media-types.ts";
import type { ProxyCacheConfig } from "./schema.ts";
import type { StoredResponse, Variants } from "./stored-response.ts";

/** Maximum bytes of a stored body. */
export const MAX_STORED_BODY = 1_048_576;

/** Statuses that depend on a range or on conditions of one request. */
const conditionalStatuses: ReadonlySet<number> = new Set([206, 304, 412, 416]);

/** A response that may be stored once its body is complete. */
export interface Storable extends Omit<StoredResponse, "body" | "purges" | "names"> {
  /** Names of the request's headers on which the response depends; empty: none. */
  readonly vary: Variants["vary"];
}

/** Returns what to store of a response; null: it must not be stored. To be called in the phase `responseHeaders`. */
export type StorableOf = (exchange: Exchange, now: number) => Storable | null;

export function createStorableOf(config: ProxyCacheConfig): StorableOf {
  const statuses = new Set(config.response_code.filter((status) => !conditionalStatuses.has(status)));
  const isCachedType = createMediaTypeMatch(config.content_type);
  return (exchange, now) => {
    const { status, source } = exchange;
    if (source !== "service" || !statuses.has(status)) return null;
    const received = exchange.receivedHeaders;
    const [contentType, ...moreTypes] = valuesOf(received, "content-type");
    if (contentType === undefined || moreTypes.length > 0 || !isCachedType(contentType)) return null;
    if (valuesOf(received, "set-cookie").length > 0 || isTooLong(exchange, received)) return null;
    const vary = varyOf(received);
    if (vary === null) return null;
    const facts = { status, headers: keptHeaders(exchange, received, now), vary };
    if (!config.cache_control) return { ...facts, timestamp: now, ttl: config.cache_ttl, mustRevalidate: false };
    const directives = directivesOf(valuesOf(received, "cache-control"));
    if (!mayStore(exchange, directives)) return null;
    const age = Number(/^\s*(\d{1,10})\s*$/.exec(valuesOf(received, "age")[0] ?? "0")?.[1] ?? 0);
    const timestamp = now - age * 1000;
    const ttl = lifetimeOf(directives, received, now);
    if (ttl - age <= 0) return null;
    return { ...facts, timestamp, ttl, mustRevalidate: revalidating.some((name) => directives.has(name)) };
  };
}

/** Directives that forbid a shared cache to use a stale response (RFC 9111 sections 4.2.4, 5.2.2.10). */
const revalidating = ["must-revalidate", "proxy-revalidate", "s-maxage"];
/** Directives that let a shared cache store the response to a request with Authorization (RFC 9111 section 3.5). */
const sharing = ["public", "s-maxage", "must-revalidate"];

/**
 * Whether the response may be stored (RFC 9111 section 3). As in Kong, a response with `no-cache` is not stored,
 * because the plugin never asks the upstream whether a stored response is still valid.
 */
function mayStore({ request }: Exchange, directives: Directives): boolean {
  if (["private", "no-store", "no-cache"].some((name) => directives.has(name))) return false;
  return request.header("authorization") === undefined || sharing.some((name) => directives.has(name));
}

/** The freshness lifetime in seconds (RFC 9111 section 4.2.1); 0 without an explicit lifetime, as in Kong. */
function lifetimeOf(directives: Directives, received: readonly string[], now: number): number {
  const stated = secondsIn(directives, "s-maxage") ?? secondsIn(directives, "max-age");
  if (stated !== undefined) return stated;
  const expires = Date.parse(valuesOf(received, "expires").at(-1) ?? "");
  if (Number.isNaN(expires)) return 0;
  const date = Date.parse(valuesOf(received, "date")[0] ?? "");
  return Math.max(0, Math.floor((expires - (Number.isNaN(date) ? now : date)) / 1000));
}

/** Whether the body is known to be too long. The Content-Length of a response to HEAD is not that of its body. */
const isTooLong = ({ request }: Exchange, received: readonly string[]): boolean =>
  request.method !== "HEAD" && Number(valuesOf(received, "content-length")[0] ?? 0) > MAX_STORED_BODY;

/** The names of headers in Vary, sorted; null: the response depends on more than headers (`*`). */
function varyOf(received: readonly string[]): Variants["vary"] | null {
  const names = new Set<Lowercase<string>>();
  for (const value of valuesOf(received, "vary")) {
    for (const part of value.split(",")) {
      const name = lowerCase(part.trim());
      if (name === "*") return null;
      if (name !== "") names.add(name);
    }
  }
  return [...names].sort();
}

/** Headers of a connection, of a proxy or of this plugin, which are not stored (RFC 9111 section 3.1). */
const droppedHeaders: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...["proxy-authenticate", "proxy-authentication-info", "proxy-authorization"],
  ...["age", "x-cache-key", "x-cache-status"],
]);

function keptHeaders({ request }: Exchange, received: readonly string[], now: number): readonly string[] {
  const listed = new Set(
    valuesOf(received, "connection").flatMap((value) => value.split(",").map((name) => lowerCase(name.trim()))),
  );
  const kept: string[] = [];
  let isDated = false;
  for (let at = 0; at < received.length; at += 2) {
    const name = received[at] ?? "";
    const lower = lowerCase(name);
    // Kept for HEAD, as the length of the body that GET would get. Other responses get the length of the stored body.
    const isLength = lower === "content-length" && request.method === "HEAD";
    // As in Kong, remaining counts of rate limits are left out: they belong to the request that was forwarded.
    const isDropped = droppedHeaders.has(lower) || listed.has(lower) || lower.includes("ratelimit-remaining");
    if (isDropped && !isLength) continue;
    if (lower === "date") isDated = true;
    kept.push(name, received[at + 1] ?? "");
  }
  if (!isDated) kept.push("Date", new Date(now).toUTCString());
  return kept;
}

function valuesOf(headers: readonly string[], lower: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.length === lower.length && headers[at]?.toLowerCase() === lower)
      values.push(headers[at + 1] ?? "");
  }
  return values;
}
