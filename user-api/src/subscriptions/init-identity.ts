/** Who asks over a WebSocket, when its first message says so. */
import type { IncomingHttpHeaders } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { type Consumer, consumerOf } from "../policy/consumer.ts";
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
 * Whom the operations of a socket come from, by the payload of `connection_init`. Null: it says what it may not.
 *
 * A gateway that has shown its secret when the socket was opened has said who it is, or that it is nobody. Payloads pass
 * through it unread, so they come from the client: no secret in them makes it anybody else, and none is compared, for
 * the answer would tell whoever guesses whether it is the right one. Behind another opener the secret is asked for.
 */
export function askerOfInit(payload: Payload, { opener, whoAsks }: InitOptions): Asker | null {
  const claims = claimsIn(payload);
  if (claims === null) return null;
  if (Object.keys(claims).length === 0) return opener;
  if (opener.gateway) {
    const { consumer } = opener;
    // What the payload leaves out it does not deny.
    const named = consumerOf({ ...(consumer === null ? {} : headersOf(consumer)), ...claims });
    return isDeepStrictEqual(named, consumer) ? opener : null;
  }
  const asker = whoAsks({ headers: claims, remoteAddress: opener.address });
  if ("refusal" in asker || !asker.gateway) return null;
  return { ...opener, gateway: true, consumer: asker.consumer };
}
