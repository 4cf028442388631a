/** Identifies the caller of a WebSocket by the payload of `connection_init`. */
import type { IncomingHttpHeaders } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../json.ts";
import { type Caller, type Consumer, consumerOf, type IdentifyCaller } from "../policy/caller.ts";

/** Payload members that claim an identity: the gateway's headers, in upper or lower case. */
const CLAIM = /^x-(?:consumer-|credential-|anonymous-consumer$|gateway-secret$)/i;

export interface InitOptions {
  /** The caller of the request that opened the socket. */
  readonly opener: Caller;
  readonly identifyCaller: IdentifyCaller;
}

/** The claims as headers; null when one is not a string, or is given twice. */
function claimsIn(payload: JsonObject): IncomingHttpHeaders | null {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(payload)) {
    if (!CLAIM.test(name)) continue;
    const header = name.toLowerCase();
    if (typeof value !== "string" || Object.hasOwn(headers, header)) return null;
    headers[header] = value;
  }
  return headers;
}

/** The headers that the gateway sends for a consumer. */
const headersOf = ({ id, username, tags }: Consumer): IncomingHttpHeaders => ({
  "x-consumer-id": id,
  "x-consumer-username": username,
  "x-consumer-tags": tags.join(","),
});

/**
 * The caller of a socket's operations, by the payload of `connection_init`. Null: the payload's claims are invalid, or
 * name another identity.
 *
 * If the opening request carried the gateway's secret, the gateway has already identified the caller, or left it
 * anonymous. The gateway forwards payloads unread, so their claims come from the client. A secret in them is not even
 * compared, because the result would tell an attacker whether a guess was right. If the opening request did not carry
 * the secret, claims are accepted only if the payload contains the secret.
 */
export function callerOfInit(payload: JsonObject, { opener, identifyCaller }: InitOptions): Caller | null {
  const claims = claimsIn(payload);
  if (claims === null) return null;
  if (Object.keys(claims).length === 0) return opener;
  if (opener.gateway) {
    const { consumer } = opener;
    // Claims may be incomplete: missing members are filled in from the consumer.
    const named = consumerOf({ ...(consumer === null ? {} : headersOf(consumer)), ...claims });
    return isDeepStrictEqual(named, consumer) ? opener : null;
  }
  const caller = identifyCaller({ headers: claims, remoteAddress: opener.address });
  if ("refusal" in caller || !caller.gateway) return null;
  return { ...opener, gateway: true, consumer: caller.consumer };
}
