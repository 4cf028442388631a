/**
 * Protects against cross-site request forgery (CSRF). Pages of other sites cannot send a body of type application/json
 * or application/graphql without a preflight, which is not granted, so POST and QUERY are safe. A GET needs no
 * preflight. It executes queries only, and is refused from pages of other origins unless the origin is listed or the
 * request carries a header that requires a preflight.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { GraphQLError } from "graphql";
import { createFailure } from "../errors.ts";

/** Headers that require a preflight; any value is accepted. */
export const PREFLIGHT_HEADERS = ["graphql-require-preflight", "x-requested-with"] as const;

export interface CrossSiteOptions {
  /** Origins that are treated like our own; `*` for all. */
  readonly origins: readonly string[];
}

function first(header: string | string[] | undefined): string | undefined {
  return String(header ?? "")
    .split(",")[0]
    ?.trim();
}

const isListed = ({ origin }: IncomingHttpHeaders, { origins }: CrossSiteOptions): boolean =>
  origins.includes("*") || (origin !== undefined && origins.includes(origin));

/** Whether the request comes from an origin whose host is neither that of this service nor that of its gateway. */
function isForeign({ origin, host, "x-forwarded-host": forwarded }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return false;
  const own = URL.parse(origin)?.host;
  return own === undefined || (own !== host && own !== first(forwarded));
}

export function isCrossSite(headers: IncomingHttpHeaders, options: CrossSiteOptions): boolean {
  if (PREFLIGHT_HEADERS.some((name) => headers[name] !== undefined) || isListed(headers, options)) return false;
  // Current browsers send this header; other programs do not. `none`: the user typed the address.
  const site = headers["sec-fetch-site"];
  return site === undefined ? isForeign(headers) : site !== "same-origin" && site !== "none";
}

export const SUBPROTOCOL = "graphql-transport-ws";

/**
 * The error with which an upgrade is refused; null: it is accepted. Browsers send an Origin but no preflight for a
 * WebSocket to another site: without this check, any page that a user visits could subscribe to the directory. Upgrades
 * with a consumer are checked too, because browsers attach cookies and client certificates by themselves.
 */
export function crossSiteRefusalOf(headers: IncomingHttpHeaders, options: CrossSiteOptions): GraphQLError | null {
  // Clients list subprotocols in the order of their preference.
  if (first(headers["sec-websocket-protocol"]) !== SUBPROTOCOL) {
    return createFailure("BAD_REQUEST", `The WebSocket subprotocol must be ${SUBPROTOCOL}`);
  }
  if (isListed(headers, options) || !isForeign(headers)) return null;
  return createFailure(
    "FORBIDDEN",
    "Pages of another origin may not open a WebSocket here; SLUICE_USER_API_ORIGINS lists origins that may",
  );
}
