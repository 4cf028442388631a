/** A real OpenID provider (oidc-provider) on a free port, and a browser that logs in there. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import Provider, { type Configuration } from "oidc-provider";

export const openidClient = { id: "gateway", secret: "a secret of the client, long enough for HS256" };
/** The origin of the application in a browser; the browser sends its requests to the gateway. */
export const APP = "http://app.test";
/** An access token for this resource is a JSON Web Token; an access token for no resource is opaque. */
export const RESOURCE = "https://api.test";
/** Seconds for which access tokens are valid. */
export const TOKEN_LIFETIME = 60;

const configuration: Configuration = {
  clients: [
    {
      client_id: openidClient.id,
      client_secret: openidClient.secret,
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      redirect_uris: [`${APP}/callback`],
      post_logout_redirect_uris: [`${APP}/bye`],
    },
    // The client in gateway/plugins/openid-connect/examples.yaml.
    {
      client_id: "partner",
      client_secret: "partner-secret",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  cookies: { keys: ["a key for the provider's own cookies"] },
  jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
  scopes: ["openid", "offline_access", "read", "write"],
  claims: { openid: ["sub", "email"] },
  conformIdTokenClaims: false,
  ttl: {
    AccessToken: TOKEN_LIFETIME,
    ClientCredentials: TOKEN_LIFETIME,
    IdToken: 86_400,
    Session: 86_400,
    Grant: 86_400,
    Interaction: 600,
    RefreshToken: 86_400,
  },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        scope: "read write",
        audience: resource,
        accessTokenFormat: "jwt",
        accessTokenTTL: TOKEN_LIFETIME,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com` }),
  }),
  issueRefreshToken: async () => true,
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  async loadExistingGrant(context) {
    const { provider, client: asking, session } = context.oidc;
    const grant = new provider.Grant({ clientId: asking?.clientId, accountId: session?.accountId });
    grant.addOIDCScope("openid offline_access read write");
    await grant.save();
    return grant;
  },
};

export interface OpenidProviderOptions {
  /** The claim by which logout tokens name the session or its user. Default: the provider sends no logout tokens. */
  readonly logoutTokens?: "with sid" | "with sub";
  /** The application's URL to which the provider reports logouts. */
  readonly logoutUri?: string;
}

export interface OpenidProvider {
  readonly issuer: string;
  /** The requests that the provider has received, as method and path. */
  readonly requests: readonly string[];
  /** An access token of the client itself: a JSON Web Token if `form` names a resource, else opaque. */
  token(form?: Readonly<Record<string, string>>): Promise<string>;
  revoke(token: string): Promise<void>;
  /** From now on, requests to the token endpoint are answered with 503. */
  breakTokenEndpoint(): void;
  /** Sets the URL of the gateway to which the provider reports logouts. */
  sendLogoutsTo(gateway: string): void;
  /** The statuses of the responses to logout tokens. */
  readonly logouts: readonly number[];
  /** Ends the session of the browser at the provider, which then sends its logout tokens. */
  logOut(browser: Browser): Promise<void>;
  /** Confirms the logout on the provider's logout page at this URL. Resolves like `Browser.visit`. */
  confirmLogout(browser: Browser, page: string, options?: { readonly stopAt: string }): Promise<Response | null>;
}

/** The configuration, with back-channel logout if `logoutTokens` is set: the provider then sends requests by `send`. */
function withLogouts(
  { logoutTokens, logoutUri }: OpenidProviderOptions,
  send: (url: string, init: RequestInit) => Promise<Response>,
): Configuration {
  if (logoutTokens === undefined) return configuration;
  const { clients = [], features } = configuration;
  const [gateway, ...others] = clients;
  const logout = {
    backchannel_logout_uri: logoutUri,
    backchannel_logout_session_required: logoutTokens === "with sid",
  };
  return {
    ...configuration,
    clients: [{ ...gateway, client_id: openidClient.id, ...logout }, ...others],
    features: { ...features, backchannelLogout: { enabled: true } },
    fetch: (url, init) => send(String(url), init as RequestInit),
  };
}

/** Starts the provider. Every visitor of its login page is logged in as alice. */
export async function startOpenidProvider(
  test: Pick<TestContext, "after">,
  options: OpenidProviderOptions = {},
): Promise<OpenidProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let application = APP;
  const logouts: number[] = [];
  const sendLogout = async (url: string, init: RequestInit) => {
    // The library's dispatcher is left out, because it refuses to connect to this machine.
    const { method, headers, body } = init;
    const response = await fetch(url.replace(APP, application), { method, headers, body });
    logouts.push(response.status);
    return response;
  };
  const provider = new Provider(issuer, withLogouts(options, sendLogout));
  const handle = provider.callback();
  const requests: string[] = [];
  let isBroken = false;
  server.on("request", (request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    requests.push(`${request.method} ${path}`);
    if (path.startsWith("/interaction/")) {
      void provider.interactionFinished(request, response, { login: { accountId: "alice" } });
    } else if (isBroken && path === "/token") response.writeHead(503).end();
    else void handle(request, response);
  });
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(issuer + path, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${openidClient.id}:${encodeURIComponent(openidClient.secret)}`)}` },
      body: new URLSearchParams(form),
    });
  const confirmLogout: OpenidProvider["confirmLogout"] = async (browser, url, options) => {
    const page = await browser.visit(url);
    const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec((await page?.text()) ?? "") ?? [];
    const body = new URLSearchParams({ xsrf, logout: "yes" });
    return browser.visit(`${issuer}/session/end/confirm`, { method: "POST", body, ...options });
  };
  return {
    issuer,
    requests,
    async token(form = {}) {
      const response = await post("/token", { grant_type: "client_credentials", ...form });
      const { access_token } = (await response.json()) as { readonly access_token: string };
      return access_token;
    },
    async revoke(token) {
      await post("/token/revocation", { token });
    },
    breakTokenEndpoint() {
      isBroken = true;
    },
    sendLogoutsTo(gateway) {
      application = gateway;
    },
    logouts,
    async logOut(browser) {
      const done = await confirmLogout(browser, `${issuer}/session/end`);
      if (done?.status !== 200) throw new Error(`the logout was answered with the status ${done?.status}`);
      await done.body?.cancel();
    },
    confirmLogout,
  };
}

/** A browser: it keeps cookies by origin, and follows redirects. */
export class Browser {
  readonly #gateway: string;
  readonly #cookies = new Map<string, Map<string, string>>();
  /** The cookies that the application has set, with their attributes. */
  readonly setCookies: string[] = [];
  /** The URLs of the last visit: the given URL, and those of the redirects. */
  visited: readonly string[] = [];

  /** @param gateway The URL to which requests to the application are sent */
  constructor(gateway: string) {
    this.#gateway = gateway;
  }

  /** The response after all redirects; null: a redirect leads to a URL that begins with `stopAt`. */
  async visit(
    url: string,
    { stopAt, ...init }: RequestInit & { readonly stopAt?: string } = {},
  ): Promise<Response | null> {
    const visited: string[] = [];
    this.visited = visited;
    for (let next = url, options = init; ; options = {}) {
      visited.push(next);
      if (stopAt !== undefined && visited.length > 1 && next.startsWith(stopAt)) return null;
      const response = await this.#request(next, options);
      const location = response.headers.get("location");
      if (location === null) return response;
      await response.body?.cancel();
      next = new URL(location, next).href;
      if (visited.length > 12) throw new Error(`too many redirects: ${visited.join(" ")}`);
    }
  }

  async #request(url: string, init: RequestInit): Promise<Response> {
    const { origin } = new URL(url);
    const cookies = this.#cookies.getOrInsertComputed(origin, () => new Map());
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const target = url.startsWith(APP) ? this.#gateway + url.slice(APP.length) : url;
    const response = await fetch(target, { ...init, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      if (origin === APP) this.setCookies.push(cookie);
      const [pair = ""] = cookie.split(";");
      const [name = "", ...value] = pair.split("=");
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) cookies.delete(name);
      else cookies.set(name, value.join("="));
    }
    return response;
  }

  /** The Cookie header with which the browser sends the application's cookies. */
  cookieHeader(): string {
    return [...(this.#cookies.get(APP) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(APP)?.get(name);
  }

  setCookie(name: string, value: string): void {
    this.#cookies.get(APP)?.set(name, value);
  }
}
