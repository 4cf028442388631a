/** The endpoint to which the provider reports logouts (OpenID Connect Back-Channel Logout 1.0). */
import {
  type DirectResponse,
  type Exchange,
  type ExchangeRequest,
  isRecord,
  ownMember,
  type PluginContext,
  pairValues,
} from "@sluice/plugin-sdk";
import type { Claims } from "../claims.ts";
import { isForm, MAX_FORM } from "../find-token.ts";
import { ProviderUnavailable } from "../provider.ts";
import type { OpenidConnectConfig } from "../schema.ts";
import { type ProviderTokenVerifier, TokenFault } from "../token-verifier.ts";
import { type LogoutClaims, type Logouts, LogoutsUnavailable, MAX_AGE } from "./logouts.ts";

const PARAMETER = "logout_token";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** Required by section 2.8 of OpenID Connect Back-Channel Logout 1.0. */
const headers = { "Cache-Control": "no-store" };

const loggedOut: DirectResponse = { status: 200, headers, body: "" };

const failed = (error: string, description: string, reason: string): DirectResponse => ({
  status: 400,
  headers,
  json: { error, error_description: description },
  reason: `openid-connect: the provider's logout did not end a session: ${reason}`,
});

const refuse = (reason: string): DirectResponse => failed("invalid_request", reason, reason);

export class BackchannelLogoutEndpoint {
  readonly #path: string;
  readonly #config: OpenidConnectConfig;
  readonly #verifier: ProviderTokenVerifier;
  readonly #logouts: Logouts;
  readonly #now: PluginContext["now"];

  constructor(
    path: string,
    config: OpenidConnectConfig,
    tools: {
      readonly verifier: ProviderTokenVerifier;
      readonly logouts: Logouts;
      readonly now: PluginContext["now"];
    },
  ) {
    this.#path = path;
    this.#config = config;
    this.#verifier = tools.verifier;
    this.#logouts = tools.logouts;
    this.#now = tools.now;
  }

  isFor({ path }: ExchangeRequest): boolean {
    return path === this.#path;
  }

  async receive({ request }: Exchange): Promise<DirectResponse> {
    try {
      const token = await tokenOf(request);
      return typeof token === "string" ? await this.#logOut(token) : refuse(token.reason);
    } catch (error) {
      // 400, because the specification has no other status for a failed logout, and providers only log the status.
      if (!(error instanceof ProviderUnavailable || error instanceof LogoutsUnavailable)) throw error;
      return failed("temporarily_unavailable", "the logout cannot be processed at present", error.message);
    }
  }

  async #logOut(text: string): Promise<DirectResponse> {
    const verified = await this.#verifier.verifyLogoutToken(text);
    const claims = verified instanceof TokenFault ? verified : this.#logoutClaims(verified.claims);
    if (claims instanceof TokenFault) return refuse(claims.reason);
    return (await this.#logouts.record(claims)) ? loggedOut : refuse("the token was used before");
  }

  /**
   * Makes the checks of section 2.6 that follow those of the signature and the issuer. Returns the claims, or why the
   * token is refused.
   */
  #logoutClaims(claims: Claims): LogoutClaims | TokenFault {
    const [client] = this.#config.client_id ?? [];
    const [iss, aud, iat, exp, jti] = ["iss", "aud", "iat", "exp", "jti"].map((name) => ownMember(claims, name));
    const [sid, sub] = ["sid", "sub"].map((name) => ownMember(claims, name));
    const now = this.#now() / 1000;
    if (client === undefined || ![aud].flat().includes(client)) return new TokenFault("the token has another audience");
    if (typeof iat !== "number") return new TokenFault("the token has no iat");
    if (Math.abs(now - iat) > MAX_AGE) return new TokenFault(`the token was not issued within ${MAX_AGE} seconds`);
    // Older providers send no expiry.
    if (exp !== undefined && (typeof exp !== "number" || exp + this.#config.leeway <= now)) {
      return new TokenFault("the token has expired");
    }
    if (typeof jti !== "string" || jti === "") return new TokenFault("the token has no jti");
    const events = ownMember(claims, "events");
    if (!isRecord(events) || !isRecord(ownMember(events, EVENT)))
      return new TokenFault("the token has no logout event");
    if (Object.hasOwn(claims, "nonce"))
      return new TokenFault("the token has a nonce, which a logout token must not have");
    if (![sid, sub].every((claim) => claim === undefined || (typeof claim === "string" && claim !== ""))) {
      return new TokenFault("sid and sub of the token must be non-empty strings");
    }
    if (sid === undefined && sub === undefined) return new TokenFault("the token has neither sid nor sub");
    return {
      iss: String(iss),
      jti,
      iat,
      sid: (sid as string | undefined) ?? null,
      sub: (sub as string | undefined) ?? null,
    };
  }
}

async function tokenOf(request: ExchangeRequest): Promise<string | TokenFault> {
  if (request.method !== "POST" || !isForm(request)) return new TokenFault("expected a POST request with a form");
  const body = await request.body(MAX_FORM);
  if (body === null) return new TokenFault(`the form is longer than ${MAX_FORM} bytes`);
  const [token, ...others] = pairValues(body.toString("latin1"), PARAMETER);
  if (token === undefined || others.length > 0) return new TokenFault(`expected one ${PARAMETER} in the form`);
  return token;
}
