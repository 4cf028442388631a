/** Login at the provider (authorization code with PKCE, RFC 6749 section 4.1 and RFC 7636), and logout. */
import {
  type DirectResponse,
  type Exchange,
  type ExchangeRequest,
  type PluginContext,
  pairValues,
  type SealedCookie,
  unexpectedError,
} from "@sluice/plugin-sdk";
import type { LoginChecks, ProviderClient } from "./provider-client.ts";
import type { OpenidConnectConfig } from "./schema.ts";
import { cookieOf, type Session, type Sessions } from "./sessions.ts";

/** A login under way, in the cookie of its browser. */
interface PendingLogin extends LoginChecks {
  /** Path and query of the request that began the login. */
  readonly target: string;
  /** Unix seconds. */
  readonly began: number;
}

/**
 * Maximum logins that one browser may have under way, in several tabs; above this number, the oldest is forgotten. The
 * limit keeps cookies short: the browser may send pending logins together with a session, and by default all headers of
 * a request together may have 16 KiB.
 */
const MAX_PENDING = 3;
/** Maximum length of a target, to keep cookies short. A longer target loses its query, or becomes `/`. */
const MAX_TARGET = 768;

/** Parameters that the provider adds to `redirect_uri`. */
const ownParameters = ["code", "state", "iss", "session_state", "scope", "authuser", "prompt", "hd"];

/** The end of a login: the session, and the redirect if the request is not forwarded. */
export interface FinishedLogin {
  readonly session: Session;
  readonly redirect: DirectResponse | null;
}

const redirectTo = (location: string): DirectResponse => ({
  status: 302,
  headers: { Location: location, "Cache-Control": "no-store" },
  body: "",
});

export class Login {
  readonly #config: OpenidConnectConfig;
  readonly #client: ProviderClient;
  readonly #sessions: Sessions;
  readonly #now: PluginContext["now"];
  readonly #cookie: SealedCookie;
  readonly #callback: URL | null;

  constructor(
    config: OpenidConnectConfig,
    tools: { readonly client: ProviderClient; readonly sessions: Sessions; readonly now: PluginContext["now"] },
  ) {
    this.#config = config;
    this.#client = tools.client;
    this.#sessions = tools.sessions;
    this.#now = tools.now;
    this.#cookie = cookieOf(config, "authorization");
    this.#callback = URL.parse(config.redirect_uri?.[0] ?? "");
  }

  /**
   * The redirect to the login page of the provider, or an error if the data of the pending logins is too long for a
   * cookie.
   * Rejects with `ProviderUnavailable`.
   */
  async start(exchange: Exchange): Promise<DirectResponse> {
    const { url, checks } = await this.#client.startLogin();
    const { sentPath, query } = exchange.request;
    const target = sentPath.length + query.length > MAX_TARGET ? sentPath : sentPath + query;
    const login: PendingLogin = { ...checks, target: target.length > MAX_TARGET ? "/" : target, began: this.#seconds };
    const pending = [...this.#pending(exchange.request), login].slice(-MAX_PENDING);
    if (!this.#cookie.write(exchange, JSON.stringify(pending))) {
      return unexpectedError("openid-connect: the data of the pending logins is too long for a cookie");
    }
    return redirectTo(url);
  }

  /** Whether the request is one to which the provider redirects at the end of a login. */
  isCallback({ path, sentPath, query }: ExchangeRequest): boolean {
    if (this.#callback === null || query === "") return false;
    const { pathname } = this.#callback;
    if (path !== pathname && sentPath !== pathname) return false;
    return (
      parameter(query, "state") !== undefined && ["code", "error"].some((name) => parameter(query, name) !== undefined)
    );
  }

  /**
   * Completes a login that this browser began. A response: the session is too long for cookies; null: the browser has
   * no login with this state under way. Rejects with `GrantRefused`, `ProviderUnavailable` or `LogoutsUnavailable`.
   */
  async complete(exchange: Exchange): Promise<FinishedLogin | DirectResponse | null> {
    const { query } = exchange.request;
    const state = parameter(query, "state");
    const pending = this.#pending(exchange.request);
    const login = pending.find((each) => each.state === state);
    if (login === undefined) return null;
    this.#forget(exchange, pending, login);
    const session = await this.#sessions.create(await this.#client.finishLogin(query, login));
    if (!this.#sessions.write(exchange, session)) {
      return unexpectedError("openid-connect: the tokens of the provider are too long for cookies");
    }
    if (this.#config.login_action === "redirect") return { session, redirect: redirectTo(this.#targetOf(login)) };
    exchange.removeQuery(ownParameters);
    return { session, redirect: null };
  }

  isLogout({ method, path, query }: ExchangeRequest): boolean {
    const { logout_methods, logout_query_arg: argument, logout_uri_suffix: suffix } = this.#config;
    if (!logout_methods.some((each) => each === method)) return false;
    if (suffix !== null && path.endsWith(suffix)) return true;
    return argument !== null && parameter(query, argument) !== undefined;
  }

  /**
   * Ends the browser's session. Redirects to the provider's logout page or, if the provider has none, to
   * `logout_redirect_uri`; without either, responds with 200. The session has ended even if this method rejects with
   * `ProviderUnavailable`.
   */
  async logout(exchange: Exchange): Promise<DirectResponse> {
    const session = this.#sessions.peek(exchange);
    this.#sessions.clear(exchange);
    const [own] = this.#config.logout_redirect_uri ?? [];
    const url = (await this.#client.logoutUrl(session?.idToken ?? null)) ?? own;
    return url === undefined ? { status: 200, message: "Logged out" } : redirectTo(url);
  }

  hide(exchange: Exchange): void {
    this.#cookie.hide(exchange);
  }

  /** The URL after the login. A path gets the origin of `redirect_uri`, so `//host` cannot lead to another server. */
  #targetOf({ target }: PendingLogin): string {
    const [configured] = this.#config.login_redirect_uri ?? [];
    return configured ?? `${this.#callback?.origin}${target}`;
  }

  get #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** The logins of the browser that have not timed out. */
  #pending(request: ExchangeRequest): readonly PendingLogin[] {
    const text = this.#cookie.read(request);
    // The cookie was sealed by this plugin, so it has this form.
    const all = text === null ? [] : (JSON.parse(text) as readonly PendingLogin[]);
    return all.filter(({ began }) => this.#seconds - began < this.#config.authorization_rolling_timeout);
  }

  /**
   * Removes a login from the cookie: the provider accepts the code of a login once, and no second code may be used for
   * the same login.
   */
  #forget(exchange: Exchange, pending: readonly PendingLogin[], login: PendingLogin): void {
    const others = pending.filter((each) => each !== login);
    if (others.length === 0) this.#cookie.clear(exchange);
    else this.#cookie.write(exchange, JSON.stringify(others));
  }
}

const parameter = (query: string, name: string): string | undefined => pairValues(query.slice(1), name)[0];
