/** All flows of openid-connect, with a real provider and through the real proxy. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  APP,
  Browser,
  type OpenidProvider,
  openidClient,
  RESOURCE,
  startOpenidProvider,
  TOKEN_LIFETIME,
} from "../../../test/plugins/openid-provider.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";

async function start(test: TestContext, config: object = {}) {
  const provider = await startOpenidProvider(test);
  const gateway = await startProxyWith(test, {
    name: "openid-connect",
    config: {
      issuer: provider.issuer,
      client_id: [openidClient.id],
      client_secret: [openidClient.secret],
      redirect_uri: [`${APP}/callback`],
      session_secret: "a secret for the cookies of this test",
      ...config,
    },
  });
  return { provider, gateway, browser: new Browser(gateway.url) };
}

/** Milliseconds by which a test advances the gateway's clock, so that tokens issued during the test have expired. */
const AFTER_EXPIRY = (TOKEN_LIFETIME + 60) * 1000;

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

interface Echo {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The request that the upstream received. */
async function echoOf(response: Response | null): Promise<Echo> {
  assert.ok(response);
  assert.equal(response.status, 200);
  return (await response.json()) as Echo;
}

const echoed = async (response: Response | null) => (await echoOf(response)).headers;

const countOf = ({ requests }: OpenidProvider, path: string) => requests.filter((each) => each === path).length;

test("a token that the provider has signed is accepted without asking the provider again, and refused after its expiry", async (test) => {
  const { provider, gateway } = await start(test, { auth_methods: ["bearer"] });
  const token = await provider.token({ resource: RESOURCE, scope: "read" });
  for (let count = 0; count < 3; count++) {
    const headers = await echoed(await gateway.fetch("/", bearer(token)));
    assert.equal(headers.authorization, `Bearer ${token}`);
    assert.equal(headers["x-credential-identifier"], openidClient.id);
  }
  assert.equal(countOf(provider, "GET /jwks"), 1);
  gateway.advance(AFTER_EXPIRY);
  assert.equal((await gateway.fetch("/", bearer(token))).status, 401);
});

test("an opaque token is checked by introspection, and the answer is cached until the token expires", async (test) => {
  const { provider, gateway } = await start(test, { auth_methods: ["introspection"], cache_ttl_neg: 5 });
  const token = await provider.token();
  for (let count = 0; count < 3; count++) await echoed(await gateway.fetch("/", bearer(token)));
  assert.equal(countOf(provider, "POST /token/introspection"), 1);
  for (let count = 0; count < 3; count++) assert.equal((await gateway.fetch("/", bearer("invented"))).status, 401);
  assert.equal(countOf(provider, "POST /token/introspection"), 2);
  gateway.advance(AFTER_EXPIRY);
  assert.equal((await gateway.fetch("/", bearer(token))).status, 401);
});

test("a revoked token is refused if introspection is not cached", async (test) => {
  const { provider, gateway } = await start(test, { auth_methods: ["introspection"], cache_introspection: false });
  const token = await provider.token();
  await echoed(await gateway.fetch("/", bearer(token)));
  await provider.revoke(token);
  assert.equal((await gateway.fetch("/", bearer(token))).status, 401);
});

test("a login redirects back to the first URL, and the session has a consumer and a token", async (test) => {
  const { provider, gateway, browser } = await start(test, {
    login_action: "redirect",
    consumer_claim: ["sub"],
    upstream_headers_claims: ["email"],
    upstream_headers_names: ["x-email"],
  });
  const headers = await echoed(await browser.visit(`${APP}/page?a=1&b=%2F`));
  assert.equal(browser.visited.at(-1), `${APP}/page?a=1&b=%2F`);
  assert.equal(headers["x-consumer-username"], "alice");
  assert.equal(headers["x-email"], "alice@example.com");
  assert.match(headers.authorization ?? "", /^Bearer ./);
  assert.equal(headers.cookie, undefined);
  const [authorization] = browser.setCookies.filter((each) => each.startsWith("authorization="));
  assert.match(authorization ?? "", /; Path=\/; HttpOnly$/);
  const [session] = browser.setCookies.filter((each) => each.startsWith("session="));
  assert.match(session ?? "", /; Path=\/; SameSite=Lax; HttpOnly$/);
  assert.equal(browser.cookie("authorization"), undefined);

  const before = provider.requests.length;
  await echoed(await browser.visit(`${APP}/again`, { method: "POST" }));
  assert.equal(provider.requests.length, before);
  assert.equal((await gateway.fetch("/again", { redirect: "manual" })).status, 302);
});

test("by default the callback of a login is forwarded to the upstream, without the parameters of the provider", async (test) => {
  const { browser } = await start(test);
  assert.equal((await echoOf(await browser.visit(`${APP}/page`))).path, "/callback");
});

test("the redirect to the login has PKCE, state and nonce, which differ each time", async (test) => {
  const { provider, browser } = await start(test);
  const urls: URL[] = [];
  for (const path of ["/one", "/two"]) {
    await browser.visit(APP + path, { stopAt: `${provider.issuer}/auth` });
    urls.push(new URL(browser.visited.at(-1) ?? ""));
  }
  for (const { searchParams } of urls) {
    assert.equal(searchParams.get("code_challenge_method"), "S256");
    assert.equal(searchParams.get("redirect_uri"), `${APP}/callback`);
    assert.equal(searchParams.get("response_type"), "code");
  }
  for (const name of ["code_challenge", "state", "nonce"]) {
    assert.equal(new Set(urls.map(({ searchParams }) => searchParams.get(name))).size, 2, name);
  }
});

test("logins in two tabs of a browser both succeed", async (test) => {
  const { provider, browser } = await start(test, { login_action: "redirect" });
  await browser.visit(`${APP}/one`, { stopAt: `${provider.issuer}/auth` });
  const first = browser.visited.at(-1) ?? "";
  await echoed(await browser.visit(`${APP}/two`));
  await echoed(await browser.visit(first));
  assert.equal(browser.visited.at(-1), `${APP}/one`);
});

test("a login that another browser began is refused", async (test) => {
  const { gateway, browser } = await start(test);
  await browser.visit(`${APP}/page`, { stopAt: `${APP}/callback` });
  const callback = browser.visited.at(-1) ?? "";
  const other = new Browser(gateway.url);
  assert.equal((await other.visit(callback))?.status, 401);
  assert.equal(other.cookie("session"), undefined);
  assert.equal((await browser.visit(callback.replace(/state=[^&]*/, "state=invented")))?.status, 401);
  assert.equal((await browser.visit(callback))?.status, 200);
});

test("a code that the provider refuses, and an error of the provider, end the login with 401", async (test) => {
  const { browser } = await start(test);
  for (const wrong of ["code=invented", "error=access_denied"]) {
    await browser.visit(`${APP}/page`, { stopAt: `${APP}/callback` });
    const callback = browser.visited.at(-1) ?? "";
    const response = await browser.visit(callback.replace(/code=[^&]*/, wrong));
    assert.equal(response?.status, 401, wrong);
    assert.equal(browser.cookie("session"), undefined);
  }
});

test("an expired access token is refreshed once for parallel requests, and the session continues", async (test) => {
  const { provider, gateway, browser } = await start(test, { login_action: "redirect" });
  const { authorization } = await echoed(await browser.visit(`${APP}/page`));
  const session = browser.cookie("session");
  gateway.advance(AFTER_EXPIRY);
  const before = countOf(provider, "POST /token");
  const cookie = ["session", "session2", "session3"]
    .map((name) => `${name}=${browser.cookie(name) ?? ""}`)
    .filter((pair) => !pair.endsWith("="))
    .join("; ");
  const responses = await Promise.all([1, 2, 3].map(() => gateway.fetch("/page", { headers: { cookie } })));
  const tokens = await Promise.all(responses.map(async (response) => (await echoed(response)).authorization));
  assert.equal(new Set(tokens).size, 1);
  assert.notEqual(tokens[0], authorization);
  assert.equal(countOf(provider, "POST /token"), before + 1);
  await echoed(await browser.visit(`${APP}/page`));
  assert.notEqual(browser.cookie("session"), session);
  assert.equal(browser.visited.length, 1);
});

test("if the provider fails while a token is refreshed, the request is answered with 503, and the session remains", async (test) => {
  const { provider, gateway, browser } = await start(test, { login_action: "redirect" });
  await echoed(await browser.visit(`${APP}/page`));
  gateway.advance(AFTER_EXPIRY);
  provider.breakTokenEndpoint();
  assert.equal((await browser.visit(`${APP}/page`))?.status, 503);
  assert.notEqual(browser.cookie("session"), undefined);
  assert.match(JSON.stringify(gateway.log), /the provider answered with the status 503/);
});

test("with refresh_tokens: false, an expired access token leads to another login", async (test) => {
  const { gateway, browser } = await start(test, { login_action: "redirect", refresh_tokens: false });
  await echoed(await browser.visit(`${APP}/page`));
  gateway.advance(AFTER_EXPIRY);
  await echoed(await browser.visit(`${APP}/page`));
  assert.ok(browser.visited.some((url) => url.startsWith(`${APP}/callback`)));
});

test("a session ends after its idle time, and a cookie with one changed character is refused", async (test) => {
  const { provider, gateway, browser } = await start(test, { login_action: "redirect", session_idling_timeout: 10 });
  const again = () => browser.visit(`${APP}/page`, { stopAt: `${provider.issuer}/auth` });
  await echoed(await browser.visit(`${APP}/page`));
  gateway.advance(9000);
  await echoed(await again());
  gateway.advance(9000);
  await echoed(await again());
  const session = browser.cookie("session") ?? "";
  browser.setCookie("session", session.slice(0, 40) + (session[40] === "A" ? "B" : "A") + session.slice(41));
  assert.equal(await again(), null);
  browser.setCookie("session", session);
  gateway.advance(10_000);
  assert.equal(await again(), null);
});

test("a logout ends the session at the gateway, and redirects to the provider's logout page, after which the provider asks for a login", async (test) => {
  const { provider, browser } = await start(test, {
    login_action: "redirect",
    logout_uri_suffix: "/logout",
    logout_methods: ["POST"],
    logout_redirect_uri: [`${APP}/bye`],
  });
  const isAskedToLogIn = async () => {
    await echoed(await browser.visit(`${APP}/page`));
    return browser.visited.some((url) => url.startsWith(`${provider.issuer}/interaction/`));
  };
  const logOut = async () => {
    await browser.visit(`${APP}/logout`, { method: "POST", stopAt: `${provider.issuer}/session/end` });
    assert.equal(browser.cookie("session"), undefined);
    return new URL(browser.visited.at(-1) ?? "");
  };
  assert.equal(await isAskedToLogIn(), true);
  await echoed(await browser.visit(`${APP}/logout`));
  await logOut();
  assert.equal(await isAskedToLogIn(), false, "the session at the provider remains until its logout page is confirmed");
  const end = await logOut();
  assert.equal(end.searchParams.get("post_logout_redirect_uri"), `${APP}/bye`);
  assert.match(end.searchParams.get("id_token_hint") ?? "", /^[\w-]+\.[\w-]+\.[\w-]+$/);
  await provider.confirmLogout(browser, end.href, { stopAt: `${APP}/bye` });
  assert.equal(browser.visited.at(-1), `${APP}/bye`);
  assert.equal(await isAskedToLogIn(), true);
});

test("no token, code or secret is in the log", async (test) => {
  const { provider, gateway, browser } = await start(test, { consumer_claim: ["sub"] });
  await browser.visit(`${APP}/page`);
  await gateway.fetch("/", bearer(await provider.token({ resource: RESOURCE })));
  provider.breakTokenEndpoint();
  await browser.visit(`${APP}/page`);
  assert.doesNotMatch(JSON.stringify(gateway.log), /eyJ|code=|long enough|cookies of this test/);
});

test("if the plugin session uses the same cookie, requests are answered with 500, and the log says what to change", async (test) => {
  const provider = await startOpenidProvider(test);
  const config = {
    issuer: provider.issuer,
    client_id: [openidClient.id],
    client_secret: [openidClient.secret],
    redirect_uri: [`${APP}/callback`],
    session_secret: "a secret for the cookies of this test",
  };
  const beside = (cookie_name: string) =>
    startProxyWith(
      test,
      { name: "openid-connect", config },
      { plugins: [{ name: "session", config: { secret: "another secret of this test", cookie_name } }] },
    );
  const same = await beside("session");
  assert.equal((await same.fetch("/page", { redirect: "manual" })).status, 500);
  assert.match(JSON.stringify(same.log), /change session_cookie_name of openid-connect or cookie_name of session/);
  assert.equal((await (await beside("consumer")).fetch("/page", { redirect: "manual" })).status, 302);
});
