/** openid-connect with Keycloak. */
import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { APP, Browser } from "../../plugins/openid-provider.ts";
import { startProxyWith } from "../../plugins/proxy.ts";
import { createRealm, issuerOf, keycloakClient, logIn, redirect_uri } from "./realm.ts";
import { type Keycloak, startKeycloak } from "./server.ts";

const LOGOUT = "/oidc/logout";

let keycloak: Keycloak;
before(async () => {
  keycloak = await startKeycloak();
});
after(() => keycloak?.stop());

let realms = 0;

interface Scene {
  readonly config?: object;
  /** The number of further nodes. Default: 0. */
  readonly others?: number;
  /** See `createRealm`. */
  readonly withSid?: boolean;
}

/** Creates a realm, and starts nodes with this config. Keycloak reports the realm's logouts to the first node. */
async function start(context: TestContext, { config = {}, others = 0, withSid }: Scene = {}) {
  realms += 1;
  const name = `realm-${realms}`;
  const full = {
    issuer: issuerOf(keycloak, name),
    ...keycloakClient,
    redirect_uri,
    login_action: "redirect",
    session_secret: "a secret for the cookies of this test",
    ...config,
  };
  const gateway = await startProxyWith(context, { name: "openid-connect", config: full });
  const nodes = [gateway];
  while (nodes.length <= others) nodes.push(await startProxyWith(context, { name: "openid-connect", config: full }));
  const realm = await createRealm(keycloak, name, { logoutUrl: gateway.url + LOGOUT, withSid });
  return { gateway, nodes, realm };
}

const statusOf = async (gateway: { readonly url: string }, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(`${gateway.url}/page`, { headers, redirect: "manual" });
  await response.body?.cancel();
  return response.status;
};

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The headers of the request that the upstream received. */
async function headersOf(response: Response | null): Promise<Readonly<Record<string, string>>> {
  assert.equal(response?.status, 200);
  return ((await response.json()) as { readonly headers: Readonly<Record<string, string>> }).headers;
}

test("a token is verified with the keys that Keycloak publishes, and refused after its key has been removed", async (context) => {
  const { gateway, realm } = await start(context, { config: { auth_methods: ["bearer"], rediscovery_lifetime: 1 } });
  const first = await realm.token();
  assert.equal(await statusOf(gateway, bearer(first)), 200);
  assert.equal(await statusOf(gateway, bearer(`${first.slice(0, -8)}AAAAAAAA`)), 401);
  const former = await realm.addKey();
  const second = await realm.token();
  gateway.advance(1000);
  assert.deepEqual([await statusOf(gateway, bearer(second)), await statusOf(gateway, bearer(first))], [200, 200]);
  await realm.removeKeys(former);
  await realm.addKey();
  const third = await realm.token();
  gateway.advance(1000);
  assert.deepEqual([await statusOf(gateway, bearer(third)), await statusOf(gateway, bearer(first))], [200, 401]);
});

test("a token is checked by introspection, and refused after Keycloak has revoked it", async (context) => {
  const { gateway, realm } = await start(context, {
    config: { auth_methods: ["introspection"], cache_introspection: false },
  });
  const token = await realm.token();
  assert.equal(await statusOf(gateway, bearer(token)), 200);
  assert.equal(await statusOf(gateway, bearer("invented")), 401);
  await realm.revoke(token);
  assert.equal(await statusOf(gateway, bearer(token)), 401);
});

test("a browser logs in with a password and PKCE, stays logged in while its token is refreshed, and logs out", async (context) => {
  const { gateway, realm } = await start(context, {
    config: {
      scopes: ["openid", "email"],
      upstream_headers_claims: ["email"],
      upstream_headers_names: ["x-email"],
      logout_uri_suffix: "/logout",
      logout_redirect_uri: `${APP}/bye`,
    },
  });
  const browser = new Browser(gateway.url);
  const headers = await headersOf(await logIn(browser, `${APP}/page?a=1`));
  assert.equal(browser.visited.at(-1), `${APP}/page?a=1`);
  assert.equal(headers["x-email"], "alice@example.com");
  gateway.advance(61_000);
  const later = await headersOf(await browser.visit(`${APP}/page`, { stopAt: realm.issuer }));
  assert.notEqual(later.authorization, headers.authorization);
  assert.equal(await browser.visit(`${APP}/logout`, { method: "POST", stopAt: `${APP}/bye` }), null);
  assert.equal(browser.cookie("session"), undefined);
  const page = await browser.visit(`${APP}/page`);
  assert.match((await page?.text()) ?? "", /name="password"/);
});

test("a logout that Keycloak reports ends one browser's session, or all sessions of the user, at every node", async (context) => {
  const redis = await startRedis();
  context.after(() => redis.stop());
  const store = { policy: "redis", redis: { host: "127.0.0.1", port: redis.port } };
  const { nodes, realm } = await start(context, {
    others: 1,
    config: {
      backchannel_logout: { path: LOGOUT, ...store },
      logout_uri_suffix: "/logout",
      logout_redirect_uri: `${APP}/bye`,
    },
  });
  const [gateway] = nodes;
  const [first, second] = [new Browser(gateway?.url ?? ""), new Browser(gateway?.url ?? "")];
  for (const browser of [first, second]) await headersOf(await logIn(browser, `${APP}/page`));
  const copies = [first, second].map((browser) => ({ cookie: browser.cookieHeader() }));
  const statuses = () => Promise.all(nodes.flatMap((node) => copies.map((copy) => statusOf(node, copy))));
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  // The gateway redirects the browser to Keycloak, which ends the browser's session and reports the logout.
  await first.visit(`${APP}/logout`, { method: "POST", stopAt: `${APP}/bye` });
  assert.deepEqual(await statuses(), [302, 200, 302, 200]);
  await realm.logOutUser();
  assert.deepEqual(await statuses(), [302, 302, 302, 302]);
  await headersOf(await logIn(first, `${APP}/page`));
});

test("a logout that names only the user ends all sessions of the user", async (context) => {
  const { gateway } = await start(context, {
    withSid: false,
    config: {
      backchannel_logout: { path: LOGOUT, policy: "local" },
      logout_uri_suffix: "/logout",
      logout_redirect_uri: `${APP}/bye`,
    },
  });
  const [first, second] = [new Browser(gateway.url), new Browser(gateway.url)];
  for (const browser of [first, second]) await headersOf(await logIn(browser, `${APP}/page`));
  const copies = [first, second].map((browser) => ({ cookie: browser.cookieHeader() }));
  await first.visit(`${APP}/logout`, { method: "POST", stopAt: `${APP}/bye` });
  assert.deepEqual(await Promise.all(copies.map((copy) => statusOf(gateway, copy))), [302, 302]);
});
