/**
 * Requests that pages of other sites make a browser send (CSRF). A page cannot send a body of type application/json
 * without asking first (a preflight, which is answered without permission), so POST and QUERY are safe by their content
 * types. A GET needs no such permission: it executes queries only, and from a page of another site it is refused unless
 * it carries a header that a page must ask for.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Any value will do. */
export const PREFLIGHT_HEADERS = ["graphql-require-preflight", "x-requested-with"] as const;

export interface CrossSiteOptions {
  /** Origins that are as good as our own; `*` for all. */
  readonly origins: readonly string[];
}

export function isCrossSite(headers: IncomingHttpHeaders, { origins }: CrossSiteOptions): boolean {
  if (PREFLIGHT_HEADERS.some((name) => headers[name] !== undefined)) return false;
  const { origin } = headers;
  if (origins.includes("*") || (origin !== undefined && origins.includes(origin))) return false;
  // Browsers of today say so, programs say nothing. `none` is a person who typed the address.
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host === undefined || (host !== headers.host && host !== headers["x-forwarded-host"]);
}
