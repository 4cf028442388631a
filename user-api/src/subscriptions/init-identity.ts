/** Who asks over a WebSocket, when its first message says so. */
import type { IncomingHttpHeaders } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { Consumer } from "../policy/consumer.ts";
import type { Asker, WhoAsks } from "../policy/who-asks.ts";
import type { Payload } from "./socket-message.ts";

/** Members that say who asks: the headers by which the gateway does, in any case. */
const CLAIM = /^x-(?:consumer-|credential-|anonymous-consumer$|gateway-secret$)/i;

export interface InitOptions {
  /** Whom the request that opened the socket comes from. */
  readonly opener: Asker;
  readonly whoAsks: WhoAsks;
}

/** The claims as headers; null when one is no text, or is made twice. */
function claimsIn(payload: Payload): IncomingHttpHeaders | null {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(payload)) {
    if (!CLAIM.test(name)) continue;
    const header = name.toLowerCase();
    if (typeof value !== "string" || Object.hasOwn(headers, header)) return null;
    headers[header] = value;
  }
  return headers;
}

/** What the gateway says of a consumer. */
const headersOf = ({ id, username, tags }: Consumer): IncomingHttpHeaders => ({
  "x-consumer-id": id,
  "x-consumer-username": username,
  "x-consumer-tags": tags.join(","),
});

/**
 * Whom the operations of a socket come from, by the payload of `connection_init`. Null: it says what it may not, because
 * it does not show the gateway's secret, or because the gateway has named another consumer when the socket was opened.
 */
export function askerOfInit(payload: Payload, { opener, whoAsks }: InitOptions): Asker | null {
  const claims = claimsIn(payload);
  if (claims === null) return null;
  if (Object.keys(claims).length === 0) return opener;
  const { consumer } = opener;
  // What the payload leaves out it does not deny.
  const headers = { ...(consumer === null ? {} : headersOf(consumer)), ...claims };
  const asker = whoAsks({ headers, remoteAddress: opener.address });
  if ("refusal" in asker || !asker.gateway) return null;
  if (consumer === null) return { ...opener, gateway: true, consumer: asker.consumer };
  return isDeepStrictEqual(asker.consumer, consumer) ? opener : null;
}
