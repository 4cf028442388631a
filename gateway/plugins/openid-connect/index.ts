/**
 * openid-connect: requests need a token or a session of an OpenID provider
 * (docs/reference/kong-compatibility.md#openid-connect).
 */
import { hash } from "node:crypto";
import {
  type AuthenticationResult,
  authenticationPhase,
  challengeOf,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type ExchangeConsumer,
  headerValue,
  overrideHeaderEdit,
  purgeHeaderEdit,
  sessionCookieKey,
  setHeaderEdit,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { BackchannelLogoutEndpoint } from "./backchannel/endpoint.ts";
import { Logouts, LogoutsUnavailable } from "./backchannel/logouts.ts";
import { type Claims, claimAt, missingClaim, textOfClaim, wordsOf } from "./claims.ts";
import { type FoundToken, findToken, tokenHeader } from "./find-token.ts";
import { Introspector } from "./introspector.ts";
import { Login } from "./login.ts";
import { Provider, ProviderUnavailable } from "./provider.ts";
import { GrantRefused, ProviderClient } from "./provider-client.ts";
import { type OpenidConnectConfig, openidConnectFacts } from "./schema.ts";
import { type Session, Sessions } from "./sessions.ts";
import { isJsonWebToken, ProviderTokenVerifier, TokenFault } from "./token-verifier.ts";

export const openidConnect = definePlugin({
  ...openidConnectFacts,
  phases(config, context) {
    const { now } = context;
    const methods = new Set(config.auth_methods);
    const provider = new Provider(config, context);
    const verifier = new ProviderTokenVerifier(config, provider, now);
    const client = new ProviderClient(config, provider, context);
    const introspector = new Introspector(config, client, now);
    const usesSessions = methods.has("session") || methods.has("authorization_code");
    const { backchannel_logout: logoutConfig } = config;
    const logouts = logoutConfig && new Logouts(config, logoutConfig, context);
    const sessions = usesSessions ? new Sessions(config, { client, verifier, logouts, now }) : null;
    const login = sessions === null ? null : new Login(config, { client, sessions, now });
    const cookieKey = sessionCookieKey(config.session_cookie_name);
    const { refuse, forbid, unauthenticated } = refusals(config);
    const accept = acceptance(config, forbid);

    /** The claims of a token that a request contains, or why the token is refused. */
    function claimsOf(text: string): Claims | TokenFault | Promise<Claims | TokenFault> {
      const isReadable = isJsonWebToken(text);
      const asks =
        methods.has("introspection") && (!isReadable || config.introspect_jwt_tokens || !methods.has("bearer"));
      if (asks) return introspector.introspect(text);
      if (!methods.has("bearer")) return new TokenFault("tokens are not accepted");
      const result = verifier.verify(text);
      const claims = (verified: Awaited<typeof result>) =>
        verified instanceof TokenFault ? verified : verified.claims;
      return result instanceof Promise ? result.then(claims) : claims(result);
    }

    function acceptToken(exchange: Exchange, found: FoundToken): AuthenticationResult | Promise<AuthenticationResult> {
      const settle = (claims: Claims | TokenFault): AuthenticationResult =>
        claims instanceof TokenFault ? refuse(claims.reason) : accept(exchange, { text: found.text, found }, [claims]);
      const claims = claimsOf(found.text);
      return claims instanceof Promise ? claims.then(settle) : settle(claims);
    }

    function acceptSession(exchange: Exchange, session: Session, sent: Sessions): AuthenticationResult {
      return accept(exchange, { text: session.accessToken, found: null }, sent.claimsOf(session));
    }

    /** Logs out, finishes a login, or uses the session of the request; else begins a login or refuses the request. */
    async function withoutToken(exchange: Exchange): Promise<AuthenticationResult> {
      const { request } = exchange;
      if (sessions === null || login === null) return { refusal: unauthenticated };
      if (login.isLogout(request)) return { response: await login.logout(exchange) };
      if (methods.has("authorization_code") && login.isCallback(request)) {
        const finished = await login.complete(exchange);
        if (finished !== null && "session" in finished) {
          const accepted = acceptSession(exchange, finished.session, sessions);
          return finished.redirect === null || accepted.identity === undefined
            ? accepted
            : { response: finished.redirect };
        }
        if (finished !== null) return { response: finished };
      }
      const session = methods.has("session") ? await sessions.use(exchange) : null;
      if (session !== null) return acceptSession(exchange, session, sessions);
      // Only GET requests are redirected, because a redirect loses the body of other methods. A callback that matches
      // no login of this browser is refused: if it began a new login, the browser could be redirected endlessly.
      const mayLogin = request.method === "GET" && !login.isCallback(request) && !isGrpc(exchange);
      return methods.has("authorization_code") && mayLogin
        ? { response: await login.start(exchange) }
        : { refusal: unauthenticated };
    }

    function failure(error: unknown): AuthenticationResult {
      if (error instanceof GrantRefused) return refuse(`the login was refused: ${error.message}`);
      if (error instanceof ProviderUnavailable) {
        return unavailable(`the provider cannot be reached, or its answer is invalid: ${error.message}`);
      }
      if (error instanceof LogoutsUnavailable) {
        return unavailable(`it is not known whether the provider has ended the session: ${error.message}`);
      }
      throw error;
    }

    const authenticated = authenticationPhase({
      plugin: "openid-connect",
      anonymous: config.anonymous,
      runOnPreflight: config.run_on_preflight,
      authenticate(exchange) {
        if (sessions !== null && exchange.shared.has(cookieKey)) return { response: sameCookie };
        sessions?.hide(exchange);
        login?.hide(exchange);
        const authenticate = (found: FoundToken | undefined) =>
          found === undefined ? withoutToken(exchange) : acceptToken(exchange, found);
        try {
          const found = findToken(exchange, config);
          const result = found instanceof Promise ? found.then(authenticate) : authenticate(found);
          return result instanceof Promise ? result.catch(failure) : result;
        } catch (error) {
          return failure(error);
        }
      },
    });
    if (logouts === null || logoutConfig === null) return { access: authenticated };
    const endpoint = new BackchannelLogoutEndpoint(logoutConfig.path, config, { verifier, logouts, now });
    return {
      access: (exchange) => (endpoint.isFor(exchange.request) ? endpoint.receive(exchange) : authenticated(exchange)),
    };
  },
});

const sameCookie = unexpectedError(
  "openid-connect: the plugin session uses the same cookie on this route, so each would replace the other's sessions: " +
    "change session_cookie_name of openid-connect or cookie_name of session",
);

const unavailable = (reason: string): AuthenticationResult => ({
  response: { status: 503, message: "Service unavailable", reason: `openid-connect: ${reason}` },
});

const isGrpc = ({ request }: Exchange): boolean =>
  request.header("content-type")?.startsWith("application/grpc") === true;

/** The responses to requests whose credentials are missing, invalid or insufficient (RFC 6750 section 3). */
function refusals(config: OpenidConnectConfig) {
  const { unauthorized_error_message, forbidden_error_message, expose_error_code, display_errors } = config;
  const challenge = challengeOf("Bearer", new URL(config.issuer).host);
  const withError = (code: string, reason: string) =>
    challenge +
    (expose_error_code ? `, error="${code}"` : "") +
    (display_errors ? `, error_description="${headerValue(reason).replace(/["\\]/g, "'")}"` : "");
  const unauthenticated: DirectResponse = {
    status: 401,
    message: unauthorized_error_message,
    headers: { "WWW-Authenticate": challenge },
  };
  return {
    unauthenticated,
    refuse: (reason: string): AuthenticationResult => ({
      refusal: { ...unauthenticated, headers: { "WWW-Authenticate": withError("invalid_token", reason) } },
    }),
    /** The credentials are valid, so the anonymous consumer is not used. */
    forbid: (reason: string): AuthenticationResult => ({
      response: {
        status: 403,
        message: forbidden_error_message,
        headers: { "WWW-Authenticate": withError("insufficient_scope", reason) },
      },
    }),
  };
}

interface AcceptedToken {
  readonly text: string;
  /** Null: the token comes from a session. */
  readonly found: FoundToken | null;
}

/** Returns a function that checks the claims of a valid token, and sets consumer, groups and headers. */
function acceptance(config: OpenidConnectConfig, forbid: (reason: string) => AuthenticationResult) {
  const header = tokenHeader(config);
  const upstream = pairsOf(config.upstream_headers_names, config.upstream_headers_claims);
  const downstream = pairsOf(config.downstream_headers_names, config.downstream_headers_claims);

  function forwardToken({ text, found }: AcceptedToken, exchange: Exchange): void {
    if (config.hide_credentials && found !== null) found.hide(exchange);
    else if (header !== null) exchange.upstreamHeaders.set(header.name, header.prefix + headerValue(text));
  }

  return (exchange: Exchange, token: AcceptedToken, sets: readonly Claims[]): AuthenticationResult => {
    const missing = missingClaim(sets, config);
    if (missing !== undefined) return forbid(`the claim ${missing} lacks a required value`);
    const consumer = consumerOf(exchange, config, sets);
    if (consumer === undefined) return forbid("there is no consumer for the token");
    const { authenticated_groups_claim: groups } = config;
    if (groups !== null) exchange.authenticatedGroups = wordsOf(claimAt(sets, groups));
    for (const [name, claim] of upstream) {
      const value = headerOfClaim(claimAt(sets, [claim]));
      exchange.upstreamHeaders.apply(value === undefined ? purgeHeaderEdit(name) : overrideHeaderEdit(name, value));
    }
    for (const [name, claim] of downstream) {
      const value = headerOfClaim(claimAt(sets, [claim]));
      if (value !== undefined) exchange.responseHeaders.apply(setHeaderEdit(name, value));
    }
    forwardToken(token, exchange);
    const id = textOfClaim(claimAt(sets, config.credential_claim)) ?? hash("sha256", token.text);
    const credential = { id, consumer: consumer && { id: consumer.id } };
    return { identity: { consumer, credential } };
  };
}

const pairsOf = (names: readonly string[] | null, claims: readonly string[] | null) =>
  (names ?? []).map((name, index) => [name, claims?.[index] ?? ""] as const);

/** The consumer that a token names. Null: the token needs no consumer. Undefined: it needs one, and there is none. */
function consumerOf(
  { identities }: Exchange,
  config: OpenidConnectConfig,
  sets: readonly Claims[],
): ExchangeConsumer | null | undefined {
  const { consumer_claim: path, consumer_by: members, consumer_optional: isOptional } = config;
  if (path === null) return null;
  const value = textOfClaim(claimAt(sets, path));
  for (const member of value === undefined ? [] : members) {
    const wanted = value ?? "";
    const found = member === "custom_id" ? identities.consumerByCustomId(wanted) : identities.consumer(wanted);
    // `identities.consumer` accepts ids and usernames, so the configured member is compared.
    if (found?.[member] === wanted) return found;
  }
  return isOptional ? null : undefined;
}

/** A claim as the value of a header, in JSON unless it is a string; undefined: it is missing or nested too deeply. */
function headerOfClaim(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim === "string") return headerValue(claim);
  try {
    return headerValue(JSON.stringify(claim));
  } catch {
    // The claim is nested too deeply for JSON.stringify.
    return undefined;
  }
}
