/** Which requests may become a WebSocket. */
import type { IncomingHttpHeaders } from "node:http";
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import type { Consumer } from "../policy/consumer.ts";

export const SUBPROTOCOL = "graphql-transport-ws";

export interface UpgradeOptions {
  readonly consumer: Consumer | null;
  /** Origins that are as good as our own; `*` for all. */
  readonly origins: readonly string[];
}

function first(header: string | string[] | undefined): string | undefined {
  return String(header ?? "")
    .split(",")[0]
    ?.trim();
}

/**
 * The reason to refuse, or null. Browsers send an origin and ask nobody before they open a WebSocket to another site:
 * without this check any page could follow the directory of whoever looks at it. A consumer has shown a credential
 * that the page must have had.
 */
export function refusalOf(headers: IncomingHttpHeaders, { consumer, origins }: UpgradeOptions): GraphQLError | null {
  // The first one is what the server will choose.
  if (first(headers["sec-websocket-protocol"]) !== SUBPROTOCOL) {
    return failure("BAD_REQUEST", `The WebSocket subprotocol must be ${SUBPROTOCOL}`);
  }
  const { origin } = headers;
  if (origin === undefined || consumer !== null || origins.includes("*") || origins.includes(origin)) return null;
  const host = URL.parse(origin)?.host;
  if (host !== undefined && (host === headers.host || host === first(headers["x-forwarded-host"]))) return null;
  return failure("FORBIDDEN", "Pages of another origin may not open a WebSocket here without a credential");
}
