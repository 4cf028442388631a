/** The sessions of a plugin instance, each in one or two encrypted cookies, so that every node can read them. */
import {
  type CookieAttributes,
  type Exchange,
  type ExchangeRequest,
  newSession,
  SealedCookie,
  type SessionTimes,
  useSession,
} from "@sluice/plugin-sdk";
import type { SessionConfig } from "./schema.ts";

/** The content of a cookie. */
export interface CookieSession {
  /** The value of the header Session-Id. */
  readonly id: string;
  readonly consumer: string;
  readonly credential: string;
  /** Whether the credential is an entity. If so, the entity must still exist, and be valid for the route. */
  readonly isEntity: boolean;
  /** The namespace whose routes accept the session; null: all do. */
  readonly namespace: string | null;
  readonly groups: readonly string[] | null;
  readonly times: SessionTimes;
}

/** The longest lifetime in seconds that browsers grant (draft-ietf-httpbis-rfc6265bis section 5.5: 400 days). */
const MAX_LIFETIME = 34_560_000;

function cookieOf(config: SessionConfig, kind: "session" | "remember"): SealedCookie {
  const cookie: CookieAttributes = {
    name: kind === "session" ? config.cookie_name : config.remember_cookie_name,
    path: config.cookie_path,
    domain: config.cookie_domain,
    sameSite: config.cookie_same_site,
    secure: config.cookie_secure,
    httpOnly: config.cookie_http_only,
  };
  return new SealedCookie({ secret: config.secret ?? "", purpose: ["plugin session", kind, config.audience], cookie });
}

export class SessionCookies {
  readonly #config: SessionConfig;
  /** Returns Unix milliseconds. */
  readonly #now: () => number;
  readonly #session: SealedCookie;
  readonly #remember: SealedCookie | null;

  constructor(config: SessionConfig, now: () => number) {
    this.#config = config;
    this.#now = now;
    this.#session = cookieOf(config, "session");
    this.#remember = config.remember ? cookieOf(config, "remember") : null;
  }

  /** The current time in Unix seconds. */
  get seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** The session of the request, and whether its cookies have to be set again; null: there is none, or it has ended. */
  open(request: ExchangeRequest): { readonly session: CookieSession; readonly isChanged: boolean } | null {
    const { idling_timeout: idling, rolling_timeout: rolling, absolute_timeout: absolute } = this.#config;
    const stored = readSession(this.#session, request);
    const times = stored && useSession(stored.times, { idling, rolling, absolute }, this.seconds);
    if (stored !== null && times !== null) {
      return { session: times === stored.times ? stored : { ...stored, times }, isChanged: times !== stored.times };
    }
    const remembered = this.#remembered(request);
    return remembered && { session: { ...remembered, times: newSession(this.seconds) }, isChanged: true };
  }

  /** Sets the cookies of a new session. Returns false, and sets none, if the session is too long for a cookie. */
  begin(exchange: Exchange, session: CookieSession): boolean {
    if (!this.#session.write(exchange, JSON.stringify(session))) return false;
    this.#writeRemember(exchange, session);
    return true;
  }

  /** Sets the cookies of the session that `open` returned. */
  renew(exchange: Exchange, session: CookieSession): void {
    this.#session.write(exchange, JSON.stringify(session));
    const remembered = this.#remembered(exchange.request);
    // A second cookie that is absent or has ended is not set: only a login begins a new one.
    if (remembered?.credential !== session.credential || remembered.consumer !== session.consumer) return;
    const times: SessionTimes = { ...newSession(this.seconds), created: remembered.times.created };
    this.#writeRemember(exchange, { ...session, times });
  }

  clear(exchange: Exchange): void {
    this.#session.clear(exchange);
    this.#remember?.clear(exchange);
  }

  hide(exchange: Exchange): void {
    this.#session.hide(exchange);
    this.#remember?.hide(exchange);
  }

  /** The content of the second cookie; null: there is none, or it has ended. */
  #remembered(request: ExchangeRequest): CookieSession | null {
    const { remember_rolling_timeout: rolling, remember_absolute_timeout: absolute } = this.#config;
    const stored = this.#remember && readSession(this.#remember, request);
    return stored && useSession(stored.times, { idling: 0, rolling, absolute }, this.seconds) ? stored : null;
  }

  #writeRemember(exchange: Exchange, session: CookieSession): void {
    const { remember_rolling_timeout: rolling, remember_absolute_timeout: absolute } = this.#config;
    const limits = [rolling, absolute === 0 ? 0 : absolute - (this.seconds - session.times.created)];
    const lifetime = Math.min(MAX_LIFETIME, ...limits.filter((limit) => limit > 0).map(Math.ceil));
    this.#remember?.write(exchange, JSON.stringify(session), lifetime);
  }
}

/** The session in a cookie; null: there is no valid cookie. Only this plugin seals it, so its content has this form. */
function readSession(cookie: SealedCookie, request: ExchangeRequest): CookieSession | null {
  const text = cookie.read(request);
  return text === null ? null : (JSON.parse(text) as CookieSession);
}
