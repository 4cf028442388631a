/** Which logout tokens are accepted, and which sessions they end. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Counters } from "@sluice/plugin-sdk";
import {
  createCountersMemory,
  type FakeExchangeOptions,
  SharedCounters,
  ThreadCounters,
} from "../../../../test/plugins/fake-exchange.ts";
import {
  CLIENT_SECRET,
  DISCOVERY,
  jwkOf,
  NOW,
  type StubProvider,
  type TokenMembers,
} from "../../../../test/plugins/stub-openid-provider.ts";
import { instanceFor, type OpenidInstance } from "../testing.ts";
import { answerTokens, beginAgain, beginLogin, config, cookiesOf, returnToGateway } from "../testing-login.ts";

const PATH = "/oidc/logout";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const DAY = 86_400;
const MONTH = 31 * DAY;

const logout = (more: object = {}) => ({ backchannel_logout: { path: PATH, policy: "local", ...more } });

let tokens = 0;

/** A logout token; a member that is undefined is left out. */
function logoutToken(provider: StubProvider, { header, claims, ...making }: TokenMembers = {}): string {
  tokens += 1;
  const right = { aud: "gateway", iat: NOW, exp: NOW + 120, jti: `token ${tokens}`, events: { [EVENT]: {} } };
  return provider.token({
    ...making,
    header: { typ: "logout+jwt", ...header },
    claims: { ...right, sub: undefined, sid: "one", ...claims },
  });
}

const form = (body: string): FakeExchangeOptions => ({
  method: "POST",
  path: PATH,
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body,
});

async function report(instance: OpenidInstance, token: string) {
  const { answer } = await instance.send(form(`logout_token=${token}`));
  assert.equal(answer?.headers?.["Cache-Control"], "no-store");
  return answer;
}

/** Completes a login with these claims in the ID token; returns the Cookie header of its session. */
async function logIn(login: Awaited<ReturnType<typeof beginLogin>>, claims: object, members: object = {}) {
  answerTokens(login, { claims }, members);
  const { exchange, answer } = await returnToGateway(login, `?code=c&state=${login.sent.get("state")}`);
  assert.equal(answer, undefined);
  return cookiesOf(exchange);
}

async function isAccepted(instance: OpenidInstance, cookie: string): Promise<boolean> {
  const { answer } = await instance.send({ path: "/page", headers: { cookie } });
  assert.ok(answer === undefined || answer.status === 302, `${answer?.status} ${answer?.reason}`);
  return answer === undefined;
}

/** An instance with a session of alice with the sid `one`. */
async function withSession(test: TestContext, more: object = {}, counters: Counters = new ThreadCounters()) {
  const login = await beginLogin(test, { more: { ...logout(), ...more }, counters });
  const cookie = await logIn(login, { sid: "one" });
  return { provider: login.provider, instance: login.instance, cookie, counters };
}

describe("a logout token of the provider", () => {
  it("is answered with 200 and ends the session that it names, so that its browser is redirected to a new login", async (test) => {
    const { provider, instance, cookie } = await withSession(test);
    assert.equal(await isAccepted(instance, cookie), true);
    const answer = await report(instance, logoutToken(provider));
    assert.deepEqual([answer?.status, answer?.body], [200, ""]);
    const { exchange, answer: next } = await instance.send({ path: "/page", headers: { cookie } });
    assert.match(`${next?.headers?.Location}`, /\/authorize\?/);
    assert.equal(exchange.credential, null);
    assert.match(exchange.responseHeaders.get("set-cookie") ?? "", /session=;.*Max-Age=0/);
  });

  const ended: readonly (readonly [what: string, claims: object, sessions: readonly (string | undefined)[]])[] = [
    ["with a sid ends one session", { sid: "one" }, ["one"]],
    [
      "with an unknown sid ends the sessions of its subject that have no sid",
      { sub: "alice", sid: "other" },
      [undefined],
    ],
    ["without a sid ends all sessions of its subject", { sub: "alice", sid: undefined }, ["one", "two", undefined]],
    ["of another subject ends no session", { sub: "bob", sid: undefined }, []],
    ["of an unknown session ends no session", { sid: "three" }, []],
  ];
  for (const [what, claims, expected] of ended) {
    it(what, async (test) => {
      const { provider, instance, cookie } = await withSession(test);
      const second = await logIn(await beginAgain(provider, instance), { sid: "two" });
      const third = await logIn(await beginAgain(provider, instance), {});
      assert.equal((await report(instance, logoutToken(provider, { claims })))?.status, 200);
      const found: (string | undefined)[] = [];
      for (const [sid, own] of [
        ["one", cookie],
        ["two", second],
        [undefined, third],
      ] as const) {
        if (!(await isAccepted(instance, own))) found.push(sid);
      }
      assert.deepEqual(found, expected);
    });
  }

  it("does not end a session that begins after it, even with the same sid", async (test) => {
    const { provider, instance, cookie } = await withSession(test);
    assert.equal((await report(instance, logoutToken(provider)))?.status, 200);
    const later = await logIn(await beginAgain(provider, instance), { sid: "one" });
    assert.deepEqual([await isAccepted(instance, cookie), await isAccepted(instance, later)], [false, true]);
    assert.equal((await report(instance, logoutToken(provider)))?.status, 200);
    assert.equal(await isAccepted(instance, later), false);
  });

  const accepted: readonly (readonly [what: string, making: TokenMembers, more?: object])[] = [
    ["without a type", { header: { typ: undefined } }],
    ["of the type JWT, as from many providers", { header: { typ: "JWT" } }],
    ["of the type application/logout+jwt", { header: { typ: "application/logout+jwt" } }],
    ["for several clients", { claims: { aud: ["other", "gateway"] } }],
    ["without an expiry, as from older providers", { claims: { exp: undefined } }],
    ["that is ten minutes old", { claims: { iat: NOW - 600 } }],
    ["of a provider whose clock is ten minutes fast", { claims: { iat: NOW + 600 } }],
    ["that has expired within the leeway", { claims: { exp: NOW } }, { leeway: 5 }],
    ["signed with another key of the provider", { pair: "ec", header: { alg: "ES256" } }],
    [
      "signed with the client's secret, if that is enabled",
      { header: { alg: "HS256" } },
      { enable_hs_signatures: true, client_secret: CLIENT_SECRET },
    ],
  ];
  for (const [what, making, more] of accepted) {
    it(`${what} is accepted`, async (test) => {
      const { provider, instance, cookie } = await withSession(test, more);
      assert.equal((await report(instance, logoutToken(provider, making)))?.status, 200);
      assert.equal(await isAccepted(instance, cookie), false);
    });
  }

  it("signed with a new key of the provider is accepted", async (test) => {
    const { provider, instance, cookie } = await withSession(test);
    provider.setKeys([jwkOf("other")]);
    instance.advance(30_000);
    assert.equal((await report(instance, logoutToken(provider, { pair: "other" })))?.status, 200);
    assert.equal(await isAccepted(instance, cookie), false);
  });

  const refused: readonly (readonly [what: string, making: TokenMembers, reason: string])[] = [
    ["with the algorithm none", { header: { alg: "none" } }, "the token cannot be read: invalid alg"],
    ["signed with an unknown key", { pair: "other" }, "the provider has no key for the token"],
    [
      "signed with an unknown key under the kid of a known key",
      { pair: "other", header: { kid: "rsa" } },
      "the signature of the token is wrong",
    ],
    ["signed with a secret", { header: { alg: "HS256" } }, "the signature of the token is wrong"],
    [
      "of the type at+jwt",
      { header: { typ: "at+jwt" } },
      "the token is not a logout token: its header typ names another type",
    ],
    [
      "with critical headers",
      { header: { crit: ["exp"] } },
      "the token cannot be read: critical headers are not supported",
    ],
    ["of another issuer", { claims: { iss: "https://another.test" } }, "the token has another issuer"],
    ["for another client", { claims: { aud: "another" } }, "the token has another audience"],
    ["for other clients", { claims: { aud: ["another", "third"] } }, "the token has another audience"],
    ["without an audience", { claims: { aud: undefined } }, "the token has another audience"],
    ["without iat", { claims: { iat: undefined } }, "the token has no iat"],
    ["whose iat is a string", { claims: { iat: String(NOW) } }, "the token has no iat"],
    ["that is older than ten minutes", { claims: { iat: NOW - 601 } }, "the token was not issued within 600 seconds"],
    ["issued too far in the future", { claims: { iat: NOW + 601 } }, "the token was not issued within 600 seconds"],
    ["that has expired", { claims: { exp: NOW } }, "the token has expired"],
    ["whose exp is a string", { claims: { exp: "never" } }, "the token has expired"],
    ["without jti", { claims: { jti: undefined } }, "the token has no jti"],
    ["whose jti is a list", { claims: { jti: ["a"] } }, "the token has no jti"],
    ["without events", { claims: { events: undefined } }, "the token has no logout event"],
    [
      "about another event",
      { claims: { events: { "https://events.test/other": {} } } },
      "the token has no logout event",
    ],
    ["whose event is a string", { claims: { events: { [EVENT]: "yes" } } }, "the token has no logout event"],
    ["whose events are a list", { claims: { events: [EVENT] } }, "the token has no logout event"],
    ["with a nonce", { claims: { nonce: "n" } }, "the token has a nonce, which a logout token must not have"],
    ["whose nonce is null", { claims: { nonce: null } }, "the token has a nonce, which a logout token must not have"],
    ["without sid and sub", { claims: { sid: undefined } }, "the token has neither sid nor sub"],
    ["whose sid is a number", { claims: { sid: 1 } }, "sid and sub of the token must be non-empty strings"],
    ["whose sub is empty", { claims: { sub: "" } }, "sid and sub of the token must be non-empty strings"],
    ["of more than 16 KiB", { claims: { text: "x".repeat(20_000) } }, "the token cannot be read: invalid JSON"],
  ];
  for (const [what, making, reason] of refused) {
    it(`${what} is refused with 400, and ends no session`, async (test) => {
      const { provider, instance, cookie } = await withSession(test);
      const answer = await report(instance, logoutToken(provider, making));
      assert.equal(answer?.status, 400);
      assert.deepEqual(answer?.json, { error: "invalid_request", error_description: reason });
      assert.equal(await isAccepted(instance, cookie), true);
    });
  }

  it("that is sent again is refused, and does not end a session that began in between", async (test) => {
    const { provider, instance } = await withSession(test);
    const token = logoutToken(provider);
    assert.equal((await report(instance, token))?.status, 200);
    const cookie = await logIn(await beginAgain(provider, instance), { sid: "one" }, { expires_in: undefined });
    for (const seconds of [0, 100, 499]) {
      instance.advance(seconds * 1000);
      assert.equal((await report(instance, token))?.status, 400);
    }
    assert.equal(await isAccepted(instance, cookie), true);
  });

  it("that is sent again is refused although the counters of a rate limit have expired in between", async (test) => {
    const counters = new ThreadCounters();
    const start = NOW - (NOW % 3600);
    const count = (from: number) => {
      const window = { windowStart: from * 1000, expires: (from + 3600) * 1000 };
      counters.incrementBelowLimit([{ name: "limit", scope: "limit", period: "hour", limit: 1, ...window }]);
    };
    count(start);
    const { provider, instance } = await withSession(test, {}, counters);
    const iat = start + 3500;
    instance.advance((iat - NOW) * 1000);
    const token = logoutToken(provider, { claims: { iat, exp: iat + 600 } });
    assert.equal((await report(instance, token))?.status, 200);
    instance.advance(200_000);
    count(start + 3600);
    assert.equal((await report(instance, token))?.status, 400);
  });

  it("is refused as an access token, and an ID token is refused as a logout token", async (test) => {
    const { provider, instance } = await withSession(test, {
      auth_methods: ["authorization_code", "bearer", "session"],
    });
    assert.equal((await instance.send(logoutToken(provider))).answer?.status, 401);
    const idToken = provider.token({ claims: { aud: "gateway", iat: NOW, nonce: "n", sid: "one" } });
    assert.equal((await report(instance, idToken))?.status, 400);
  });

  it("is refused while the provider's keys are not known, and the reason is only in the log", async (test) => {
    const { provider, instance, counters } = await withSession(test);
    const restarted = instanceFor(provider, { ...config, ...logout() }, { counters });
    provider.answer(DISCOVERY, (_request, response) => response.writeHead(500).end());
    const answer = await report(restarted, logoutToken(provider));
    assert.equal(answer?.status, 400);
    assert.deepEqual(answer?.json, {
      error: "temporarily_unavailable",
      error_description: "the logout cannot be processed at present",
    });
    assert.match(answer?.reason ?? "", /the provider answered with the status 500/);
    assert.equal((await report(instance, logoutToken(provider)))?.status, 200);
  });
});

describe("the endpoint for logouts", () => {
  const requests: readonly (readonly [what: string, request: (token: string) => FakeExchangeOptions])[] = [
    ["with GET", (token) => ({ path: PATH, query: `?logout_token=${token}` })],
    ["with PUT", (token) => ({ ...form(`logout_token=${token}`), method: "PUT" })],
    [
      "with JSON",
      (token) => ({
        ...form(JSON.stringify({ logout_token: token })),
        headers: { "content-type": "application/json" },
      }),
    ],
    ["without a body", () => form("")],
    ["with two tokens", (token) => form(`logout_token=${token}&logout_token=${token}`)],
    ["with the token in another parameter", (token) => form(`id_token=${token}`)],
    ["with text that is not a token", () => form("logout_token=nonsense")],
    ["with a form of 10 MB", (token) => form(`logout_token=${token}&x=${"x".repeat(10_000_000)}`)],
  ];
  for (const [what, request] of requests) {
    it(`answers 400 to a request ${what}, and ends no session`, async (test) => {
      const { provider, instance, cookie } = await withSession(test);
      const { answer } = await instance.send(request(logoutToken(provider)));
      assert.deepEqual([answer?.status, answer?.json?.error], [400, "invalid_request"]);
      assert.equal(await isAccepted(instance, cookie), true);
    });
  }

  it("needs neither an access token nor a session, and ignores those of the request", async (test) => {
    const { provider, instance, cookie } = await withSession(test);
    const request = form(`logout_token=${logoutToken(provider)}`);
    const headers = { ...request.headers, authorization: "Bearer nonsense", cookie };
    assert.equal((await instance.send({ ...request, headers })).answer?.status, 200);
  });

  it("responds only at its exact path", async (test) => {
    const { provider, instance } = await withSession(test);
    for (const path of [`${PATH}/`, `/x${PATH}`, "/oidc"]) {
      const { answer } = await instance.send({ ...form(`logout_token=${logoutToken(provider)}`), path });
      assert.equal(answer?.status, 401, path);
    }
  });
});

describe("a session that a logout at the provider can end", () => {
  it("ends at all instances with the same client that share counters", async (test) => {
    const { provider, instance, cookie, counters } = await withSession(test);
    const others = [
      instanceFor(provider, { ...config, ...logout({ path: "/other" }) }, { counters }),
      instanceFor(provider, { ...config, ...logout(), auth_methods: ["session", "authorization_code"] }, { counters }),
    ];
    for (const other of others) assert.equal(await isAccepted(other, cookie), true);
    assert.equal((await report(instance, logoutToken(provider)))?.status, 200);
    for (const other of others) assert.equal(await isAccepted(other, cookie), false);
  });

  it("ends at all workers of a node", async (test) => {
    const memory = createCountersMemory(1024);
    const [first, second] = [1, 2].map((owner) => new SharedCounters({ memory, owner, now: () => NOW * 1000 }));
    const { provider, instance, cookie } = await withSession(test, {}, first);
    const other = instanceFor(provider, { ...config, ...logout() }, { counters: second });
    assert.equal(await isAccepted(other, cookie), true);
    const token = logoutToken(provider);
    assert.equal((await report(other, token))?.status, 200);
    assert.equal((await report(instance, token))?.status, 400, "the token was used before");
    assert.deepEqual([await isAccepted(instance, cookie), await isAccepted(other, cookie)], [false, false]);
  });

  it("is not ended by a logout token for another client of the provider", async (test) => {
    const { provider, instance, cookie, counters } = await withSession(test);
    const other = instanceFor(provider, { ...config, ...logout(), client_id: "other" }, { counters });
    assert.equal((await report(other, logoutToken(provider, { claims: { aud: "other" } })))?.status, 200);
    assert.equal(await isAccepted(instance, cookie), true);
  });

  it("is refused by nodes that have lost the recorded logouts, or do not share them", async (test) => {
    const { provider, instance, cookie } = await withSession(test);
    const restarted = instanceFor(provider, { ...config, ...logout() });
    assert.equal(await isAccepted(restarted, cookie), false);
    await logIn(await beginAgain(provider, restarted), { sid: "two" });
    assert.equal(await isAccepted(restarted, cookie), false);
    assert.equal(await isAccepted(instance, cookie), true);
  });

  it("is refused if it began without backchannel_logout in the config", async (test) => {
    const login = await beginLogin(test);
    const cookie = await logIn(login, { sid: "one" });
    assert.equal(await isAccepted(login.instance, cookie), true);
    assert.equal(await isAccepted(instanceFor(login.provider, { ...config, ...logout() }), cookie), false);
  });

  const month = { session_idling_timeout: 0, session_rolling_timeout: 0, session_absolute_timeout: MONTH };

  for (const days of [0, 1, 6, 7, 13, 29]) {
    it(`remains ended until its timeout if the logout comes after ${days} days, and another session continues`, async (test) => {
      const counters = new ThreadCounters();
      const login = await beginLogin(test, { more: { ...logout(), ...month }, counters });
      const cookie = await logIn(login, { sid: "one" }, { expires_in: undefined });
      const { instance, provider } = login;
      const other = await logIn(await beginAgain(provider, instance), { sid: "two" }, { expires_in: undefined });
      for (let day = 0; day < days; day++) instance.advance(DAY * 1000);
      assert.equal(await isAccepted(instance, cookie), true);
      const iat = NOW + days * DAY;
      assert.equal((await report(instance, logoutToken(provider, { claims: { iat, exp: iat + 120 } })))?.status, 200);
      for (let day = days; day < 30; day++) {
        instance.advance(DAY * 1000);
        // Other plugins use the same counters, and drop expired ones when they count.
        const windowStart = (NOW + day * DAY) * 1000;
        const expires = windowStart + DAY * 1000;
        counters.incrementBelowLimit([
          { name: "other", scope: "other", period: "day", windowStart, expires, limit: 1 },
        ]);
        assert.deepEqual([await isAccepted(instance, cookie), await isAccepted(instance, other)], [false, true]);
      }
    });
  }

  it("leaves no counters of reported logouts behind after the longest lifetime of a session", async (test) => {
    const counters = new ThreadCounters();
    const { provider, instance } = await withSession(test, {}, counters);
    for (let count = 0; count < 100; count++) {
      const claims = { sid: `session ${count}`, sub: "alice" };
      assert.equal((await report(instance, logoutToken(provider, { claims })))?.status, 200);
    }
    assert.ok(counters.size >= 200, `${counters.size} counters`);
    const windowStart = (NOW + MONTH + 8 * DAY) * 1000;
    counters.incrementBelowLimit([
      { name: "later", scope: "later", period: "day", windowStart, expires: windowStart + DAY * 1000, limit: 1 },
    ]);
    assert.equal(counters.size, 1);
  });
});
