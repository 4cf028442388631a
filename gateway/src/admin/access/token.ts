/** Tokens that callers send, and the one that opens the listener. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export interface SentTokens {
  readonly bearer: string | undefined;
  /** The bearer token, and the one in Kong's own header. */
  readonly all: readonly string[];
}

export function tokensIn(headers: IncomingHttpHeaders): SentTokens {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const own = headers["kong-admin-token"];
  return { bearer, all: [bearer, own].filter((token) => typeof token === "string") };
}

/** Hashes have one length and tell nothing by the time that comparing them takes. */
export function tokenCheck(expected: string): (given: string) => boolean {
  const wanted = hashOf(expected);
  return (given) => timingSafeEqual(hashOf(given), wanted);
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();
