/** Decides which requests may become a WebSocket. */
import type { IncomingHttpHeaders } from "node:http";
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import type { Consumer } from "../policy/consumer.ts";

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
