/** Sessions through the real proxy, with key-auth as the plugin that authenticates; and through fake exchanges. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startProxyWith } from "../../../test/plugins/proxy.ts";
import { session } from "./index.ts";

const secret = "a secret for the cookies of this test";

/** Starts a gateway and a client of it. A request without a key or a session has the consumer guest. */
async function start(test: TestContext, config: object = {}) {
  const gateway = await startProxyWith(
    test,
    { name: "session", config: { secret, ...config } },
    {
      plugins: [{ name: "key-auth", config: { anonymous: "guest" } }],
      consumers: [
        { username: "alice", keys: ["alice-key"] },
        { username: "bob", keys: ["bob-key"] },
        { username: "guest" },
      ],
    },
  );
  return { gateway, browser: new CookieJar((path, init) => gateway.fetch(path, init)) };
}

/** A client that keeps cookies. */
class CookieJar {
  readonly #fetch: (path: string, init: RequestInit) => Promise<Response>;
  readonly cookies = new Map<string, string>();
  /** The cookies that the last response set. */
  set: readonly string[] = [];

  constructor(fetch: (path: string, init: RequestInit) => Promise<Response>) {
    this.#fetch = fetch;
  }

  /** Returns the response's headers, and the headers that the upstream received (null if it received no request). */
  async send(
    path = "/",
    { headers = {}, ...init }: { headers?: Record<string, string>; method?: string; body?: string } = {},
  ) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#fetch(path, { ...init, headers: { ...headers, ...(cookie !== "" && { cookie }) } });
    this.set = response.headers.getSetCookie();
    for (const each of this.set) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (each.includes("Max-Age=0;")) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    assert.equal(response.status, 200);
    const text = await response.text();
    const upstream = text === "" ? null : (JSON.parse(text) as { headers: Record<string, string> }).headers;
    return { upstream, headers: response.headers };
  }

  async user(path?: string): Promise<string | undefined> {
    return (await this.send(path)).upstream?.["x-consumer-username"];
  }
}

const withKey = (key: string) => ({ headers: { apikey: key } });

test("a request with the cookie of a session has the consumer of the login, even without a key", async (test) => {
  const { browser } = await start(test);
  assert.equal(await browser.user(), "guest");
  assert.deepEqual(browser.set, []);
  const login = await browser.send("/", withKey("alice-key"));
  assert.equal(login.upstream?.["x-consumer-username"], "alice");
  assert.match(browser.set.join(), /^session=[\w-]+; Path=\/; SameSite=Strict; Secure; HttpOnly$/);
  const { upstream } = await browser.send();
  assert.equal(upstream?.["x-consumer-username"], "alice");
  assert.equal(upstream["x-credential-identifier"], login.upstream["x-credential-identifier"]);
  assert.equal(upstream["x-anonymous-consumer"], undefined);
  assert.equal(upstream.cookie, undefined);
  assert.deepEqual(browser.set, []);
});

test("in a session, key-auth with anonymous ignores keys; without the cookie, a key begins a new session", async (test) => {
  const { browser } = await start(test);
  await browser.send("/", withKey("alice-key"));
  const first = browser.cookies.get("session");
  assert.equal((await browser.send("/", withKey("bob-key"))).upstream?.["x-consumer-username"], "alice");
  assert.deepEqual(browser.set, []);
  browser.cookies.clear();
  await browser.send("/", withKey("bob-key"));
  assert.notEqual(browser.cookies.get("session"), first);
  assert.equal(await browser.user(), "bob");
});

test("key-auth without anonymous requires a key even in a session", async (test) => {
  const gateway = await startProxyWith(
    test,
    { name: "session", config: { secret } },
    { plugins: [{ name: "key-auth" }], consumers: [{ username: "alice", keys: ["alice-key"] }] },
  );
  const login = await gateway.fetch("/", withKey("alice-key"));
  const [cookie = ""] = login.headers.getSetCookie();
  const response = await gateway.fetch("/", { headers: { cookie: cookie.split(";")[0] ?? "" } });
  assert.equal(response.status, 401);
});

for (const [what, config, path, init] of [
  ["POST and the query parameter", {}, "/?session_logout=true", { method: "POST" }],
  ["a query parameter without a value", {}, "/?a=1&session_logout", { method: "DELETE" }],
  ["GET, if configured", { logout_methods: ["GET"], logout_query_arg: "bye" }, "/?bye=1", {}],
  [
    "a member of a form, if configured",
    { read_body_for_logout: true, logout_post_arg: "bye" },
    "/",
    { method: "POST", body: "a=1&bye=1", headers: { "content-type": "application/x-www-form-urlencoded" } },
  ],
  [
    "a member of a JSON object, if configured",
    { read_body_for_logout: true },
    "/",
    { method: "POST", body: '{"session_logout":true}', headers: { "content-type": "application/json" } },
  ],
] as const) {
  test(`a session is ended by a logout with ${what}`, async (test) => {
    const { browser } = await start(test, { remember: true, ...config });
    await browser.send("/", withKey("alice-key"));
    assert.deepEqual([...browser.cookies.keys()], ["session", "remember"]);
    assert.equal((await browser.send(path, init)).upstream, null);
    assert.equal(browser.cookies.size, 0);
    assert.equal(await browser.user(), "guest");
  });
}

for (const [what, path, init] of [
  ["a logout with another method", "/?session_logout=1", {}],
  ["a logout form without read_body_for_logout", "/", { method: "POST", body: "session_logout=1" }],
  ["another query parameter", "/?session_logout2=1", { method: "POST" }],
] as const) {
  test(`a session is not ended by ${what}`, async (test) => {
    const { browser } = await start(test);
    await browser.send("/", withKey("alice-key"));
    assert.equal((await browser.send(path, init)).upstream?.["x-consumer-username"], "alice");
  });
}

test("a request to log out without a session is forwarded", async (test) => {
  const { browser } = await start(test);
  assert.notEqual((await browser.send("/?session_logout=1", { method: "POST" })).upstream, null);
});

test("a session is renewed while it is used, and ends after its idling, its rolling and its absolute timeout", async (test) => {
  const { gateway, browser } = await start(test, { idling_timeout: 100, rolling_timeout: 200, absolute_timeout: 300 });
  const users = async (...seconds: number[]) => {
    const seen: (string | undefined)[] = [];
    for (const each of seconds) {
      gateway.advance(each * 1000);
      seen.push(await browser.user());
    }
    return seen;
  };
  await browser.send("/", withKey("alice-key"));
  assert.deepEqual(await users(101), ["guest"]);
  // Without a request in the last quarter of the rolling timeout, the session is not renewed.
  await browser.send("/", withKey("alice-key"));
  assert.deepEqual(await users(90, 50, 70), ["alice", "alice", "guest"]);
  await browser.send("/", withKey("alice-key"));
  assert.deepEqual(await users(90, 90, 90, 31), ["alice", "alice", "alice", "guest"]);
});

test("with remember, a second cookie begins a new session until this cookie expires", async (test) => {
  const { gateway, browser } = await start(test, {
    remember: true,
    remember_rolling_timeout: 1000,
    remember_absolute_timeout: 1500,
  });
  await browser.send("/", withKey("alice-key"));
  const attributes = (name: string) => browser.set.find((each) => each.startsWith(`${name}=`))?.replace(/^[^;]+/, "");
  assert.match(attributes("remember") ?? "", /^; Max-Age=1000; Path=\/; SameSite=Strict; Secure; HttpOnly$/);
  assert.doesNotMatch(attributes("session") ?? "", /Max-Age/);
  browser.cookies.delete("session");
  gateway.advance(900_000);
  assert.equal(await browser.user(), "alice");
  assert.match(attributes("remember") ?? "", /^; Max-Age=600; /);
  browser.cookies.delete("session");
  gateway.advance(601_000);
  assert.equal(await browser.user(), "guest");
});

test("the renewal of a session does not renew a second cookie that has expired", async (test) => {
  const { gateway, browser } = await start(test, {
    remember: true,
    remember_absolute_timeout: 60,
    idling_timeout: 100,
  });
  await browser.send("/", withKey("alice-key"));
  gateway.advance(70_000);
  assert.equal(await browser.user(), "alice");
  assert.deepEqual(
    browser.set.map((each) => each.split("=")[0]),
    ["session"],
  );
});

for (const [what, change] of [
  [
    "changed in one character",
    (value: string) => value.slice(0, 40) + (value[40] === "A" ? "B" : "A") + value.slice(41),
  ],
  ["cut off", (value: string) => value.slice(0, -3)],
  ["of a session that is not encrypted", () => Buffer.from('{"consumer":"alice"}').toString("base64url")],
  ["that is empty", () => ""],
  ["with bytes that are not Base64url", () => "%00\u00ff"],
] as const) {
  test(`a cookie ${what} is ignored`, async (test) => {
    const { browser } = await start(test, { remember: true });
    await browser.send("/", withKey("alice-key"));
    for (const [name, value] of browser.cookies) browser.cookies.set(name, change(value));
    assert.equal(await browser.user(), "guest");
  });
}

test("the content of one of the two cookies is not accepted in the other cookie", async (test) => {
  const { gateway, browser } = await start(test, { remember: true, idling_timeout: 10 });
  await browser.send("/", withKey("alice-key"));
  const [session = "", remember = ""] = browser.cookies.values();
  browser.cookies.clear();
  browser.cookies.set("session", remember);
  assert.equal(await browser.user(), "guest");
  gateway.advance(11_000);
  browser.cookies.set("remember", session);
  assert.equal(await browser.user(), "guest");
});

test("an instance with another audience or secret does not accept the cookie", async (test) => {
  const { browser } = await start(test);
  await browser.send("/", withKey("alice-key"));
  const headers = { cookie: `session=${browser.cookies.get("session")}` };
  for (const config of [{ audience: "other" }, { secret: "another secret for cookies" }]) {
    const { gateway } = await start(test, config);
    const { headers: received } = (await (await gateway.fetch("/", { headers })).json()) as { headers: object };
    assert.equal("x-anonymous-consumer" in received, true);
  }
});

test("the properties of a session are sent as headers, and the client's own headers of these names are removed", async (test) => {
  const all = ["id", "audience", "subject", "timeout", "idling-timeout", "rolling-timeout", "absolute-timeout"];
  const { gateway, browser } = await start(test, { request_headers: all, response_headers: all, idling_timeout: 0 });
  const forged = { "session-id": "forged", session_subject: "admin" };
  const before = await browser.send("/", { headers: forged });
  assert.deepEqual(
    Object.keys(before.upstream ?? {}).filter((name) => name.startsWith("session")),
    [],
  );
  const login = await browser.send("/", withKey("alice-key"));
  gateway.advance(10_000);
  const { upstream, headers } = await browser.send("/", { headers: forged });
  const expected = {
    "session-id": login.headers.get("session-id"),
    "session-audience": "default",
    "session-subject": "alice",
    "session-timeout": "3590",
    "session-idling-timeout": null,
    "session-rolling-timeout": "3590",
    "session-absolute-timeout": "86390",
  };
  assert.match(login.headers.get("session-id") ?? "", /^[\w-]{43}$/);
  for (const [name, value] of Object.entries(expected)) {
    assert.equal(upstream?.[name] ?? null, value, name);
    assert.equal(headers.get(name), value, name);
  }
  assert.equal(upstream?.session_subject, undefined);
});

const alice = fakeConsumer({ id: "c-alice", username: "alice" });
const key = fakeCredential(alice);

describe("a session", () => {
  const phases = session.phases(withConfigDefaults("session", { secret }), fakeContext());

  /** The exchange of a request with this cookie, after the access phase. */
  async function used(cookie: string, options: FakeExchangeOptions) {
    const exchange = fakeExchange({ headers: { cookie }, ...options });
    await phases.access?.(exchange);
    return exchange;
  }

  async function cookieOf(options: FakeExchangeOptions): Promise<string> {
    const exchange = await used("", {});
    Object.assign(exchange, { consumer: alice, credential: key, ...options });
    const { namespace } = options;
    const known = { keys: { key }, consumers: [alice], ...(namespace !== undefined && { namespace }) };
    const { identities } = fakeExchange(known);
    phases.responseHeaders?.(Object.assign(exchange, { identities }));
    return exchange.responseHeaders.get("set-cookie")?.split(";")[0] ?? "";
  }

  test("has the groups of its login", async () => {
    const cookie = await cookieOf({ authenticatedGroups: ["staff"] });
    const exchange = await used(cookie, { keys: { key }, consumers: [alice] });
    assert.deepEqual(exchange.authenticatedGroups, ["staff"]);
    assert.equal(exchange.consumer, alice);
  });

  test("does not outlive its consumer, and its cookie is deleted", async () => {
    const exchange = await used(await cookieOf({}), { keys: { key } });
    assert.equal(exchange.consumer, null);
    assert.match(exchange.responseHeaders.get("set-cookie") ?? "", /^session=; Max-Age=0;/);
  });

  test("is not used if its credential was deleted, or is not valid for the route; its cookie remains", async () => {
    const exchange = await used(await cookieOf({}), { consumers: [alice] });
    assert.equal(exchange.credential, null);
    assert.equal(exchange.responseHeaders.get("set-cookie"), undefined);
  });

  test("is used without a stored credential if its login had none, as after a login with a token", async () => {
    const token = { id: "subject", consumer: { id: alice.id } };
    const cookie = await cookieOf({ credential: token as typeof key });
    const exchange = await used(cookie, { consumers: [alice] });
    assert.deepEqual(exchange.credential, token);
  });

  for (const [what, id] of [
    ["", "subject"],
    [", even if the login named the id of a stored one", key.id],
  ] as const)
    test(`is used only in the namespace of its login if the login had no stored credential${what}`, async () => {
      const credential = { id, consumer: { id: alice.id } } as typeof key;
      const cookie = await cookieOf({ credential, namespace: "one" });
      const seen = ["one", "two"].map((namespace) => used(cookie, { keys: { key }, consumers: [alice], namespace }));
      assert.deepEqual(
        (await Promise.all(seen)).map((exchange) => exchange.credential?.id ?? null),
        [id, null],
      );
    });

  test("does not begin for the anonymous consumer, or without a consumer", async () => {
    assert.equal(await cookieOf({ credential: null }), "");
    assert.equal(await cookieOf({ consumer: null }), "");
  });

  test("does not begin if its groups are too long for cookies", async () => {
    assert.equal(await cookieOf({ authenticatedGroups: ["x".repeat(10_000)] }), "");
  });
});
