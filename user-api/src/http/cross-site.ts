/**
 * Protects against cross-site request forgery (CSRF). Pages of other sites cannot send a body of type application/json
 * without a preflight, which is not granted, so POST and QUERY are safe by their content types. A GET needs no
 * preflight. It executes queries only, and is refused from pages of other sites unless it carries a header that
 * requires a preflight.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import type { Consumer } from "../policy/caller.ts";

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

export const SUBPROTOCOL = "graphql-transport-ws";

export interface UpgradeOptions {
  readonly consumer: Consumer | null;
  /** Origins that are treated like our own; `*` for all. */
  readonly origins: readonly string[];
}

function first(header: string | string[] | undefined): string | undefined {
  return String(header ?? "")
    .split(",")[0]
    ?.trim();
}

/**
 * The error with which an upgrade is refused, or null. Browsers send an Origin but no preflight for a WebSocket to
 * another site: without this check, any page that a user visits could subscribe to the directory. A consumer has
 * presented a credential, which the page must have known.
 */
export function refusalOf(headers: IncomingHttpHeaders, { consumer, origins }: UpgradeOptions): GraphQLError | null {
  // The first one is the one that the server will choose.
  if (first(headers["sec-websocket-protocol"]) !== SUBPROTOCOL) {
    return failure("BAD_REQUEST", `The WebSocket subprotocol must be ${SUBPROTOCOL}`);
  }
  const { origin } = headers;
  if (origin === undefined || consumer !== null || origins.includes("*") || origins.includes(origin)) return null;
  const host = URL.parse(origin)?.host;
  if (host !== undefined && (host === headers.host || host === first(headers["x-forwarded-host"]))) return null;
  return failure("FORBIDDEN", "Pages of another origin may not open a WebSocket here without a credential");
}
