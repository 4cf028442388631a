/** A realm of Keycloak with a client for the gateway and a user, and the user's login in a browser. */
import assert from "node:assert/strict";
import { APP, type Browser } from "../../plugins/openid-provider.ts";
import type { Keycloak } from "./server.ts";

export const keycloakClient = { client_id: "gateway", client_secret: "the secret of the gateway" };
export const redirect_uri = `${APP}/callback`;

const user = { username: "alice", password: "wonderland" };

export const issuerOf = ({ url }: Keycloak, realm: string): string => `${url}/realms/${realm}`;

export interface Realm {
  readonly issuer: string;
  /** A token that the client gets for itself. */
  token(): Promise<string>;
  revoke(token: string): Promise<void>;
  /** Adds a key, with which the realm signs from now on. Returns the ids of the former keys for signatures. */
  addKey(): Promise<readonly string[]>;
  removeKeys(ids: readonly string[]): Promise<void>;
  /** Ends all sessions of the user at the provider. */
  logOutUser(): Promise<void>;
}

/**
 * @param logoutUrl The URL to which Keycloak reports logouts
 * @param options.withSid Whether Keycloak names the session in its reports, or only the user. Default: true.
 */
export async function createRealm(
  keycloak: Keycloak,
  name: string,
  { logoutUrl, withSid = true }: { readonly logoutUrl: string; readonly withSid?: boolean },
): Promise<Realm> {
  const issuer = issuerOf(keycloak, name);
  await keycloak.call("POST", "/realms", {
    realm: name,
    enabled: true,
    accessTokenLifespan: 60,
    clients: [
      {
        clientId: keycloakClient.client_id,
        secret: keycloakClient.client_secret,
        redirectUris: [redirect_uri],
        serviceAccountsEnabled: true,
        // Keycloak introspects a token only for clients that are in the token's audience.
        protocolMappers: [
          {
            name: "audience",
            protocol: "openid-connect",
            protocolMapper: "oidc-audience-mapper",
            config: { "included.client.audience": keycloakClient.client_id, "access.token.claim": "true" },
          },
        ],
        attributes: {
          "pkce.code.challenge.method": "S256",
          "post.logout.redirect.uris": `${APP}/bye`,
          "backchannel.logout.url": logoutUrl,
          "backchannel.logout.session.required": String(withSid),
        },
      },
    ],
    users: [
      {
        username: user.username,
        enabled: true,
        email: "alice@example.com",
        emailVerified: true,
        firstName: "Alice",
        lastName: "Liddell",
        credentials: [{ type: "password", value: user.password, temporary: false }],
      },
    ],
  });
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(`${issuer}/protocol/openid-connect/${path}`, {
      method: "POST",
      body: new URLSearchParams({ ...keycloakClient, ...form }),
    });
  // The realm signs with the key that has the highest priority. The priority of its first key is 100.
  let priority = 200;
  const signing = async () =>
    ((await keycloak.call("GET", `/realms/${name}/components?type=org.keycloak.keys.KeyProvider`)) as Component[])
      .filter(({ providerId }) => providerId === "rsa-generated")
      .map(({ id }) => id);
  return {
    issuer,
    async token() {
      const response = await post("token", { grant_type: "client_credentials" });
      assert.equal(response.status, 200);
      return ((await response.json()) as { readonly access_token: string }).access_token;
    },
    async revoke(token) {
      assert.equal((await post("revoke", { token })).status, 200);
    },
    async addKey() {
      const before = await signing();
      priority += 1;
      await keycloak.call("POST", `/realms/${name}/components`, {
        name: "another key",
        providerId: "rsa-generated",
        providerType: "org.keycloak.keys.KeyProvider",
        config: {
          priority: [String(priority)],
          enabled: ["true"],
          active: ["true"],
          algorithm: ["RS256"],
          keySize: ["2048"],
        },
      });
      return before;
    },
    async removeKeys(ids) {
      for (const id of ids) await keycloak.call("DELETE", `/realms/${name}/components/${id}`);
    },
    async logOutUser() {
      const [found] = (await keycloak.call("GET", `/realms/${name}/users?username=${user.username}`)) as Component[];
      await keycloak.call("POST", `/realms/${name}/users/${found?.id}/logout`);
    },
  };
}

interface Component {
  readonly id: string;
  readonly providerId?: string;
}

/**
 * Visits a page of the application, and submits the login form of Keycloak to which the page redirects. Resolves like
 * `Browser.visit`.
 */
export async function logIn(browser: Browser, url: string): Promise<Response | null> {
  const page = await browser.visit(url);
  const [, action = ""] = /<form[^>]* action="([^"]+)"/.exec((await page?.text()) ?? "") ?? [];
  assert.notEqual(action, "", `no form at ${browser.visited.at(-1)}`);
  return browser.visit(action.replaceAll("&amp;", "&"), { method: "POST", body: new URLSearchParams(user) });
}
