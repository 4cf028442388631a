/** The header WWW-Authenticate (RFC 9110 section 11.6.1). */
import { headerValue } from "../exchange/header-value.ts";

/** A challenge with the realm as a quoted string. Without a realm (null) it is only the scheme. */
export const challengeOf = (scheme: string, realm: string | null): string =>
  realm === null ? scheme : `${scheme} realm="${headerValue(realm).replace(/["\\]/g, "\\$&")}"`;
