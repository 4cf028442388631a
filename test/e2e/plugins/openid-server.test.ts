/** openid-connect with a second implementation of a provider: the server of zitadel/oidc, which is written in Go. */
import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { APP, Browser } from "../../plugins/openid-provider.ts";
import { startProxyWith } from "../../plugins/proxy.ts";

const client = { client_id: "gateway", client_secret: "secret of the gateway" };
const redirect_uri = `${APP}/callback`;

async function startServer(context: TestContext, address = "127.0.0.1:0") {
  const ready = /listening on (\S+)/;
  const server = await startProcess(await obtainTool("openid-server"), [address, redirect_uri], {
    name: "openid-server",
    ready,
  });
  context.after(() => server.stop());
  return { issuer: ready.exec(server.output())?.[1] ?? "", stop: () => server.stop() };
}

const startGateway = (context: TestContext, issuer: string, config: object) =>
  startProxyWith(context, {
    name: "openid-connect",
    config: { issuer, ...client, redirect_uri, session_secret: "a secret for the cookies of this test", ...config },
  });

/** Logs in on the page to which the browser was redirected, and follows redirects. Resolves like `Browser.visit`. */
async function logIn(browser: Browser, issuer: string, stopAt?: string): Promise<Response | null> {
  const page = new URL(browser.visited.at(-1) ?? "");
  assert.equal(page.pathname, "/login/username");
  const form = {
    id: page.searchParams.get("authRequestID") ?? "",
    username: "test-user@127.0.0.1",
    password: "verysecure",
  };
  return browser.visit(`${issuer}login/username`, {
    method: "POST",
    body: new URLSearchParams(form),
    ...(stopAt !== undefined && { stopAt }),
  });
}

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
}

/** Tokens that another program has received from the provider with the gateway's client id. */
async function tokensOf(issuer: string): Promise<Tokens> {
  const document = await (await fetch(`${issuer}.well-known/openid-configuration`)).json();
  const { authorization_endpoint, token_endpoint } = document as Readonly<Record<string, string>>;
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    scope: "openid",
    redirect_uri,
    client_id: client.client_id,
    code_challenge: hash("sha256", verifier, "base64url"),
    code_challenge_method: "S256",
    state: "s",
  });
  const browser = new Browser("http://127.0.0.1:1");
  await browser.visit(`${authorization_endpoint}?${query}`);
  await logIn(browser, issuer, redirect_uri);
  const code = new URL(browser.visited.at(-1) ?? "").searchParams.get("code") ?? "";
  const body = { grant_type: "authorization_code", code, redirect_uri, code_verifier: verifier, ...client };
  const response = await fetch(String(token_endpoint), { method: "POST", body: new URLSearchParams(body) });
  assert.equal(response.status, 200);
  return (await response.json()) as Tokens;
}

/** The headers of the request that the upstream received. */
async function headersOf(response: Response | null): Promise<Readonly<Record<string, string>>> {
  assert.equal(response?.status, 200);
  const { headers } = (await response.json()) as { readonly headers: Readonly<Record<string, string>> };
  return headers;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("a browser logs in with a password and PKCE, stays logged in while its token is refreshed, and logs out", async (context) => {
  const { issuer } = await startServer(context);
  const gateway = await startGateway(context, issuer, {
    login_action: "redirect",
    scopes: ["openid", "offline_access"],
    upstream_headers_claims: ["sub"],
    upstream_headers_names: ["x-subject"],
    logout_uri_suffix: "/logout",
  });
  const browser = new Browser(gateway.url);
  await browser.visit(`${APP}/page?a=1`);
  const first = await logIn(browser, issuer);
  assert.equal(browser.visited.at(-1), `${APP}/page?a=1`);
  const headers = await headersOf(first);
  assert.equal(headers["x-subject"], "id1");
  assert.match(headers.authorization ?? "", /^Bearer ./);

  gateway.advance(301_000);
  const later = await headersOf(await browser.visit(`${APP}/page`, { stopAt: issuer }));
  assert.notEqual(later.authorization, headers.authorization);

  const out = await browser.visit(`${APP}/logout`, { method: "POST" });
  assert.equal(out?.status, 200);
  assert.equal(browser.cookie("session"), undefined);
  assert.equal(await browser.visit(`${APP}/page`, { stopAt: issuer }), null);
});

test("a signed token is verified with the published keys, and an opaque one by introspection", async (context) => {
  const { issuer } = await startServer(context);
  const gateway = await startGateway(context, issuer, {
    auth_methods: ["bearer", "introspection"],
  });
  const { id_token, access_token } = await tokensOf(issuer);
  const status = async (token: string) => (await gateway.fetch("/", bearer(token))).status;
  assert.deepEqual(
    [
      await status(id_token),
      await status(access_token),
      await status("invented"),
      await status(`${id_token.slice(0, -8)}AAAAAAAA`),
    ],
    [200, 200, 401, 401],
  );
});

test("after the provider has replaced its keys, tokens signed with the new keys are accepted, and tokens signed with the old keys are not", async (context) => {
  const server = await startServer(context);
  const { issuer } = server;
  const gateway = await startGateway(context, issuer, { auth_methods: ["bearer"], rediscovery_lifetime: 1 });
  const status = async (token: string) => (await gateway.fetch("/", bearer(token))).status;
  const before = (await tokensOf(issuer)).id_token;
  assert.equal(await status(before), 200);
  await server.stop();
  await startServer(context, new URL(issuer).host);
  const after = (await tokensOf(issuer)).id_token;
  gateway.advance(1000);
  assert.deepEqual([await status(after), await status(before)], [200, 401]);
});
