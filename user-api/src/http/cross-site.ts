/**
 * Protects against cross-site request forgery (CSRF). Pages of other sites cannot send a body of type application/json
 * without a preflight, which is not granted, so POST and QUERY are safe by their content types. A GET needs no
 * preflight. It executes queries only, and is refused from pages of other sites unless it carries a header that
 * requires a preflight.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Headers that require a preflight; any value is accepted. */
export const PREFLIGHT_HEADERS = ["graphql-require-preflight", "x-requested-with"] as const;

export interface CrossSiteOptions {
  /** Origins that are treated like our own; `*` for all. */
  readonly origins: readonly string[];
}

export function isCrossSite(headers: IncomingHttpHeaders, { origins }: CrossSiteOptions): boolean {
  if (PREFLIGHT_HEADERS.some((name) => headers[name] !== undefined)) return false;
  const { origin } = headers;
  if (origins.includes("*") || (origin !== undefined && origins.includes(origin))) return false;
  // Current browsers send this header, other programs do not. `none`: the user typed the address.
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host === undefined || (host !== headers.host && host !== headers["x-forwarded-host"]);
}
