/** Logouts that a real provider reports to nodes with a real Redis. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  APP,
  Browser,
  type OpenidProviderOptions,
  openidClient,
  startOpenidProvider,
} from "../../../../test/plugins/openid-provider.ts";
import { startProxyWith } from "../../../../test/plugins/proxy.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { startRedis } from "../../../../tools/programs/servers/redis.ts";

const PATH = "/oidc/logout";

/** Two nodes; the provider reports logouts to the first one. */
async function start(context: TestContext, logoutTokens: OpenidProviderOptions["logoutTokens"]) {
  const redis = await startRedis();
  context.after(() => redis.stop());
  const provider = await startOpenidProvider(context, { logoutTokens, logoutUri: `${APP}${PATH}` });
  const node = () =>
    startProxyWith(context, {
      name: "openid-connect",
      config: {
        issuer: provider.issuer,
        client_id: [openidClient.id],
        client_secret: [openidClient.secret],
        redirect_uri: [`${APP}/callback`],
        login_action: "redirect",
        session_secret: "a secret for the cookies of this test",
        backchannel_logout: { path: PATH, policy: "redis", redis: { host: "127.0.0.1", port: redis.port } },
      },
    });
  const nodes = [await node(), await node()] as const;
  provider.sendLogoutsTo(nodes[0].url);
  return { redis, provider, nodes };
}

/** The status of a request with the session of this browser: 302 redirects to a login. */
async function statusAt({ url }: { readonly url: string }, browser: Browser): Promise<number> {
  const response = await fetch(`${url}/page`, { headers: { cookie: browser.cookieHeader() }, redirect: "manual" });
  await response.body?.cancel();
  return response.status;
}

test("a logout at the provider ends the session of its browser at every node, and no session of another browser", async (context) => {
  const { provider, nodes } = await start(context, "with sid");
  const [first, second] = [new Browser(nodes[0].url), new Browser(nodes[1].url)];
  for (const browser of [first, second]) assert.equal((await browser.visit(`${APP}/page`))?.status, 200);
  for (const node of nodes) assert.equal(await statusAt(node, first), 200);
  await provider.logOut(first);
  assert.deepEqual(provider.logouts, [200]);
  for (const node of nodes) {
    assert.equal(await statusAt(node, first), 302);
    assert.equal(await statusAt(node, second), 200);
  }
  assert.equal((await first.visit(`${APP}/page`))?.status, 200);
  assert.ok(first.visited.some((url) => url.startsWith(`${provider.issuer}/auth`)));
});

test("a logout token that names only the subject ends all sessions of the subject", async (context) => {
  const { provider, nodes } = await start(context, "with sub");
  const [first, second] = [new Browser(nodes[0].url), new Browser(nodes[1].url)];
  for (const browser of [first, second]) assert.equal((await browser.visit(`${APP}/page`))?.status, 200);
  await provider.logOut(first);
  assert.deepEqual(provider.logouts, [200]);
  for (const node of nodes) {
    for (const browser of [first, second]) assert.equal(await statusAt(node, browser), 302);
  }
});

test("requests with a session are answered with 503 while Redis is down, and redirected to a login if its data is lost", async (context) => {
  const { redis, provider, nodes } = await start(context, "with sid");
  const [node] = nodes;
  const browser = new Browser(node.url);
  assert.equal((await browser.visit(`${APP}/page`))?.status, 200);
  await redis.stop();
  assert.equal(await statusAt(node, browser), 503);
  await provider.logOut(browser);
  assert.deepEqual(provider.logouts, [400]);
  assert.match(JSON.stringify(node.log), /it is not known whether the provider has ended the session/);
  await redis.restart();
  // The node connects again in the background.
  await waitFor(async () => (await statusAt(node, browser)) !== 503, { what: "the connection to Redis" });
  assert.equal(await statusAt(node, browser), 302);
});
