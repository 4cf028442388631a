/** The session after a login: tokens in an encrypted cookie, so that every node can read it. */
import { hash } from "node:crypto";
import {
  type CookieAttributes,
  type Exchange,
  LruCache,
  newSession,
  type PluginContext,
  readToken,
  SealedCookie,
  type SessionTimes,
  useSession,
} from "@sluice/plugin-sdk";
import type { LogoutMarks, Logouts } from "./backchannel/logouts.ts";
import type { Claims } from "./claims.ts";
import { GrantRefused, type ProviderClient, type Tokens } from "./provider-client.ts";
import type { OpenidConnectConfig } from "./schema.ts";
import { type ProviderTokenVerifier, TokenFault } from "./token-verifier.ts";

export interface Session {
  readonly times: SessionTimes;
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly idToken: string;
  /** Unix seconds of the access token's expiry; null: unknown. */
  readonly expires: number | null;
  readonly scope: string;
  /** Absent: the session began without back-channel logout. */
  readonly logout?: LogoutMarks;
}

/** Seconds for which the result of a refresh is kept for requests that were sent with the former cookie. */
const REFRESH_KEPT = 30;
const REFRESHES = 256;

interface Refreshed {
  readonly result: Promise<Session | null>;
  /** When the refresh began, in milliseconds of the node's clock. */
  readonly at: number;
}

/** The cookie in which an instance keeps the session, or the one in which it keeps the pending logins. */
export function cookieOf(config: OpenidConnectConfig, kind: "session" | "authorization"): SealedCookie {
  const [redirect] = config.redirect_uri ?? [];
  const cookie: CookieAttributes = {
    name: config[`${kind}_cookie_name`],
    path: config[`${kind}_cookie_path`],
    domain: config[`${kind}_cookie_domain`],
    sameSite: config[`${kind}_cookie_same_site`],
    secure: config[`${kind}_cookie_secure`] ?? (redirect?.startsWith("https:") === true ? true : null),
    httpOnly: config[`${kind}_cookie_http_only`],
  };
  const purpose = [kind, config.issuer, config.client_id?.[0] ?? "", config.session_audience];
  return new SealedCookie({ secret: config.session_secret ?? "", purpose, cookie });
}

export class Sessions {
  readonly #config: OpenidConnectConfig;
  readonly #client: ProviderClient;
  readonly #verifier: ProviderTokenVerifier;
  readonly #logouts: Logouts | null;
  readonly #now: PluginContext["now"];
  readonly #cookie: SealedCookie;
  /** Recent refreshes, by SHA-256 of the refresh token: most providers accept each refresh token once. */
  readonly #refreshes = new LruCache<Refreshed>(REFRESHES);

  constructor(
    config: OpenidConnectConfig,
    tools: {
      readonly client: ProviderClient;
      readonly verifier: ProviderTokenVerifier;
      /** Null: the config has no `backchannel_logout`. */
      readonly logouts: Logouts | null;
      readonly now: PluginContext["now"];
    },
  ) {
    this.#config = config;
    this.#client = tools.client;
    this.#verifier = tools.verifier;
    this.#logouts = tools.logouts;
    this.#now = tools.now;
    this.#cookie = cookieOf(config, "session");
  }

  /**
   * Creates a session from new tokens. Rejects with `GrantRefused` if the ID token is missing or invalid, and with
   * `ProviderUnavailable` or `LogoutsUnavailable` if the provider or the counters of logouts cannot be reached.
   */
  async create(tokens: Tokens): Promise<Session> {
    const { idToken } = tokens;
    if (idToken === null) throw new GrantRefused("the provider sent no ID token");
    const claims = await this.#checkIdToken(idToken);
    const times = newSession(this.#seconds);
    const logout = await this.#logouts?.marksOf(claims, times.created);
    const scope = this.#config.scopes.join(" ");
    return this.#sessionOf(tokens, { times, idToken, scope, ...(logout && { logout }) });
  }

  /** Sets the cookie of a session. False: the session is too long for cookies. */
  write(exchange: Exchange, session: Session): boolean {
    return this.#cookie.write(exchange, JSON.stringify(session));
  }

  /** The session in the cookie of the request, which may have ended; null: the request has none. */
  peek(exchange: Exchange): Session | null {
    const text = this.#cookie.read(exchange.request);
    if (text === null) return null;
    // The cookie was sealed by this plugin, so it has this form.
    return JSON.parse(text) as Session;
  }

  /**
   * The session of the request, refreshed if necessary; null: there is none, it has ended, or it has become too long
   * for cookies. Sets the cookie if the session changes, and removes it if the session has ended. Rejects with
   * `ProviderUnavailable` if the session cannot be refreshed at present, and with `LogoutsUnavailable` if it is not
   * known whether the provider has ended the session.
   */
  async use(exchange: Exchange): Promise<Session | null> {
    const before = this.peek(exchange);
    const session = before === null ? null : await this.#current(before);
    if (session === null) {
      this.#cookie.clear(exchange);
      return null;
    }
    if (session !== before && !this.write(exchange, session)) return null;
    return session;
  }

  clear(exchange: Exchange): void {
    this.#cookie.clear(exchange);
  }

  hide(exchange: Exchange): void {
    this.#cookie.hide(exchange);
  }

  /** The claims of the session: those of the access token, the granted scopes, then those of the ID token. */
  claimsOf({ accessToken, scope, idToken }: Session): readonly Claims[] {
    const claims = [accessToken, idToken].map((text) => {
      const token = readToken(text);
      return typeof token === "string" ? {} : token.claims;
    });
    const [ofAccess = {}, ofId = {}] = claims;
    return [ofAccess, { scope }, ofId];
  }

  get #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** The session after this request, refreshed if necessary; the same object if nothing changes; null: it has ended. */
  async #current(session: Session): Promise<Session | null> {
    const { session_idling_timeout, session_rolling_timeout, session_absolute_timeout, leeway } = this.#config;
    const times = useSession(
      session.times,
      { idling: session_idling_timeout, rolling: session_rolling_timeout, absolute: session_absolute_timeout },
      this.#seconds,
    );
    if (times === null || (await this.#isLoggedOut(session))) return null;
    const { expires } = session;
    if (expires !== null && expires + leeway <= this.#seconds) {
      const refreshed = await this.#refreshed(session);
      return refreshed && { ...refreshed, times };
    }
    return times === session.times ? session : { ...session, times };
  }

  async #isLoggedOut({ logout, times }: Session): Promise<boolean> {
    if (this.#logouts === null) return false;
    return logout === undefined || this.#logouts.hasEnded(logout, times.created);
  }

  /**
   * The refreshed session; null: it cannot be refreshed. Requests with the same refresh token share one refresh, even
   * if they arrive shortly after it.
   */
  #refreshed(session: Session): Promise<Session | null> {
    const { refreshToken } = session;
    if (!this.#config.refresh_tokens || refreshToken === null) return Promise.resolve(null);
    const id = hash("sha256", refreshToken, "base64");
    const before = this.#refreshes.get(id);
    if (before !== undefined && this.#now() - before.at < REFRESH_KEPT * 1000) return before.result;
    const result = this.#refresh(session, refreshToken);
    this.#refreshes.set(id, { result, at: this.#now() });
    // A failure is not cached, because the provider may answer the next attempt.
    result.catch(() => this.#refreshes.delete(id));
    return result;
  }

  async #refresh(session: Session, refreshToken: string): Promise<Session | null> {
    try {
      const tokens = await this.#client.refresh(refreshToken);
      if (tokens.idToken !== null) {
        const claims = await this.#checkIdToken(tokens.idToken);
        if (claims.sub !== subjectOf(session.idToken)) return null;
      }
      const next = this.#sessionOf(tokens, { ...session, idToken: tokens.idToken ?? session.idToken });
      return { ...next, refreshToken: tokens.refreshToken ?? refreshToken };
    } catch (error) {
      if (error instanceof GrantRefused) return null;
      throw error;
    }
  }

  async #checkIdToken(idToken: string): Promise<Claims> {
    const verified = await this.#verifier.verify(idToken);
    if (verified instanceof TokenFault) throw new GrantRefused(`ID token: ${verified.reason}`);
    return verified.claims;
  }

  #sessionOf(tokens: Tokens, rest: Pick<Session, "times" | "idToken" | "scope" | "logout">): Session {
    const { accessToken, refreshToken, lifetime, scope } = tokens;
    const expires = lifetime === null ? null : this.#seconds + lifetime;
    return { ...rest, accessToken, refreshToken, expires, scope: scope ?? rest.scope };
  }
}

function subjectOf(idToken: string): unknown {
  const token = readToken(idToken);
  return typeof token === "string" ? undefined : token.claims.sub;
}
