/**
 * The requests that the gateway makes as a client of the provider, with openid-client. The library is loaded at its
 * first use, because it takes megabytes of memory in every worker. Its requests use the HTTP client of the node, which
 * checks addresses.
 */
import type { PluginContext } from "@sluice/plugin-sdk";
import type { ClientAuth, Configuration, CustomFetch, TokenEndpointResponse } from "openid-client";
import { type Claims, wordsOf } from "./claims.ts";
import { type Provider, ProviderUnavailable } from "./provider.ts";
import type { OpenidConnectConfig } from "./schema.ts";

type Library = typeof import("openid-client");

const MAX_RESPONSE = 256 * 1024;
const FIRST_SERVER_ERROR = 500;
/** Statuses of responses without a body (Fetch standard, null body status). */
const bodiless: readonly number[] = [204, 205, 304];

/** The tokens of a login or a refresh. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly idToken: string | null;
  /** Seconds for which the access token is valid; null: unknown. */
  readonly lifetime: number | null;
  /** The granted scopes; null: those that were requested. */
  readonly scope: string | null;
}

/**
 * The provider has refused a login or a refresh, or its response does not match the login. The message is for the log.
 */
export class GrantRefused extends Error {
  override readonly name = "GrantRefused";
}

export interface LoginChecks {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE (RFC 7636). */
  readonly verifier: string;
}

export class ProviderClient {
  readonly #config: OpenidConnectConfig;
  readonly #provider: Provider;
  readonly #context: Pick<PluginContext, "network" | "now">;

  constructor(config: OpenidConnectConfig, provider: Provider, context: Pick<PluginContext, "network" | "now">) {
    this.#config = config;
    this.#provider = provider;
    this.#context = context;
  }

  /**
   * The URL of the provider's login page, and the values with which `finishLogin` checks the provider's redirect.
   * Rejects with `ProviderUnavailable`.
   */
  async startLogin(): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
    const { library, configuration } = await this.#open();
    const checks = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
    requireEndpoint(configuration, "authorization_endpoint");
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.#config.scopes.join(" "),
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, checks };
  }

  /**
   * Exchanges the code of the provider's redirect for tokens. Rejects with `GrantRefused` or `ProviderUnavailable`.
   *
   * @param query The query of the redirect, with its `?`
   */
  async finishLogin(query: string, { state, nonce, verifier }: LoginChecks): Promise<Tokens> {
    const { library, configuration } = await this.#open();
    requireEndpoint(configuration, "token_endpoint");
    const url = new URL(this.#redirectUri);
    url.search = query;
    // Unknown parameters must be ignored (RFC 6749 section 4.1.2); the library refuses those of other flows.
    for (const name of ["response", "id_token", "token"]) url.searchParams.delete(name);
    return this.#tokens(() =>
      library.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      }),
    );
  }

  /** Requests new tokens with a refresh token. Rejects with `GrantRefused` or `ProviderUnavailable`. */
  async refresh(refreshToken: string): Promise<Tokens> {
    const { library, configuration } = await this.#open();
    requireEndpoint(configuration, "token_endpoint");
    return this.#tokens(() => library.refreshTokenGrant(configuration, refreshToken));
  }

  /** The claims of an active token (RFC 7662); null: it is not active. Rejects with `ProviderUnavailable`. */
  async introspect(token: string): Promise<Claims | null> {
    const { library, configuration } = await this.#open();
    requireEndpoint(configuration, "introspection_endpoint");
    try {
      const hint = { token_type_hint: this.#config.introspection_hint };
      const response = await library.tokenIntrospection(configuration, token, hint);
      return response.active === true ? (response as Claims) : null;
    } catch (error) {
      throw unavailableBy(error, "introspection");
    }
  }

  /** The URL of the provider's logout page; null: the provider has none. Rejects with `ProviderUnavailable`. */
  async logoutUrl(idToken: string | null): Promise<string | null> {
    const { library, configuration } = await this.#open();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    const [target] = this.#config.logout_redirect_uri ?? [];
    return library.buildEndSessionUrl(configuration, {
      ...(idToken !== null && { id_token_hint: idToken }),
      ...(target !== undefined && { post_logout_redirect_uri: target }),
    }).href;
  }

  get #redirectUri(): string {
    return this.#config.redirect_uri?.[0] ?? "";
  }

  async #tokens(grant: () => Promise<TokenEndpointResponse>): Promise<Tokens> {
    try {
      const { access_token, refresh_token, id_token, expires_in, scope } = await grant();
      return {
        accessToken: access_token,
        refreshToken: refresh_token ?? null,
        idToken: id_token ?? null,
        lifetime: expires_in ?? null,
        scope: scope === undefined ? null : wordsOf(scope).join(" "),
      };
    } catch (error) {
      const code = codeOf(error);
      if (refusals.has(code)) throw new GrantRefused(code);
      throw unavailableBy(error, "the token endpoint");
    }
  }

  async #open(): Promise<{ readonly library: Library; readonly configuration: Configuration }> {
    const { metadata } = await this.#provider.get();
    const library = await import("openid-client");
    const { client_id, leeway } = this.#config;
    const clientMetadata = {
      // Makes the library use the node's clock.
      [library.clockSkew]: Math.round((this.#context.now() - Date.now()) / 1000),
      [library.clockTolerance]: leeway,
    };
    const [id = ""] = client_id ?? [];
    const authenticate = this.#clientAuth(library);
    const configuration = new library.Configuration(metadata, id, clientMetadata, (server, client, body, headers) => {
      // `redirect_uri` must be the same text as at the login (RFC 6749 section 4.1.3); the library removes its query.
      if (body.has("redirect_uri")) body.set("redirect_uri", this.#redirectUri);
      return authenticate(server, client, body, headers);
    });
    configuration[library.customFetch] = this.#fetch;
    configuration.timeout = 0;
    if (metadata.issuer.startsWith("http:") || this.#config.issuer.startsWith("http:")) {
      library.allowInsecureRequests(configuration);
    }
    return { library, configuration };
  }

  #clientAuth(library: Library): ClientAuth {
    const [secret] = this.#config.client_secret ?? [];
    const [method = secret === undefined ? "none" : "client_secret_basic"] = this.#config.client_auth ?? [];
    if (method === "none") return library.None();
    if (method === "client_secret_post") return library.ClientSecretPost(secret);
    return method === "client_secret_jwt" ? library.ClientSecretJwt(secret) : library.ClientSecretBasic(secret);
  }

  readonly #fetch: CustomFetch = async (url, { method, headers, body }) => {
    const { timeout, ssl_verify: verify } = this.#config;
    const sent = { method, url, headers, body: textOfBody(body), timeout, verify, maxResponse: MAX_RESPONSE };
    const response = await this.#context.network.http.send(sent).catch((error: unknown) => {
      throw new ProviderUnavailable(error instanceof Error ? error.message : String(error));
    });
    const { status } = response;
    if (status >= FIRST_SERVER_ERROR || (status >= 300 && status < 400)) {
      throw new ProviderUnavailable(`${new URL(url).host}: the provider answered with the status ${status}`);
    }
    const list = Object.entries(response.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each]),
    );
    return new Response(bodiless.includes(status) ? null : new Uint8Array(response.body), { status, headers: list });
  };
}

/** Error codes of OAuth and of openid-client that concern this login or refresh, and not the configuration. */
const refusals: ReadonlySet<string> = new Set([
  "invalid_grant",
  "OAUTH_AUTHORIZATION_RESPONSE_ERROR",
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
]);

/** The provider's error code, such as `invalid_grant`, else the code of the library's error; "" for none. */
function codeOf(error: unknown): string {
  const { error: oauth, code } = Object(error) as { readonly error?: unknown; readonly code?: unknown };
  if (code === "OAUTH_RESPONSE_BODY_ERROR" && typeof oauth === "string") return oauth;
  return typeof code === "string" ? code : "";
}

/**
 * An error that names what failed and the error code. It contains no other part of a request or response, because these
 * may contain secrets.
 */
function unavailableBy(error: unknown, what: string): ProviderUnavailable {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProviderUnavailable) return cause;
  }
  const code = codeOf(error);
  return new ProviderUnavailable(`${what}: ${code === "" ? (error as Error).message : code.slice(0, 128)}`);
}

function requireEndpoint(configuration: Configuration, name: string): void {
  if (typeof configuration.serverMetadata()[name] === "string") return;
  throw new ProviderUnavailable(`the discovery document has no ${name}: set ${name} in the config`);
}

function textOfBody(body: unknown): string | Buffer {
  if (body === undefined || body === null) return "";
  return body instanceof Uint8Array ? Buffer.from(body) : String(body);
}
