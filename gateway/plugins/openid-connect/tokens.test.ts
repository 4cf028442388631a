import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeConsumer } from "../../../test/plugins/fake-exchange.ts";
import {
  CLIENT_SECRET,
  jwkOf,
  NOW,
  startStubProvider,
  type TokenMembers,
} from "../../../test/plugins/stub-openid-provider.ts";
import { instanceFor } from "./testing.ts";

const alice = fakeConsumer({ id: "c-1", username: "alice", custom_id: "crm-7" });
const base64url = (text: string) => Buffer.from(text).toString("base64url");

describe("a token of openid-connect", () => {
  const accepted: readonly (readonly [what: string, making: TokenMembers, config?: object])[] = [
    ["signed with RS256", {}],
    ["signed with ES256", { pair: "ec", header: { alg: "ES256" } }],
    ["signed with EdDSA", { pair: "ed", header: { alg: "EdDSA" } }],
    ["without the id of its key", { header: { kid: undefined } }],
    ["without a type", { header: { typ: undefined } }],
    ["of the type at+JWT", { header: { typ: "at+JWT" } }],
    [
      "signed with the client's secret",
      { header: { alg: "HS256" } },
      { enable_hs_signatures: true, client_secret: CLIENT_SECRET },
    ],
    ["that expired within the leeway", { claims: { exp: NOW - 5 } }, { leeway: 6 }],
    ["that becomes valid within the leeway", { claims: { nbf: NOW + 5 } }, { leeway: 5 }],
    ["issued in the future", { claims: { iat: NOW + 100 } }],
    ["with a required audience", { claims: { aud: ["a", "b"] } }, { audience_required: ["b"] }],
    ["with one of two required audiences", { claims: { aud: "a" } }, { audience_required: ["b", "a"] }],
    ["with all required scopes", { claims: { scope: "one two three" } }, { scopes_required: ["three one"] }],
    [
      "with scopes as a list in another claim",
      { claims: { scp: ["one"] } },
      { scopes_claim: ["scp"], scopes_required: ["one"] },
    ],
    [
      "with required roles in a nested claim",
      { claims: { realm_access: { roles: ["admin"] } } },
      { roles_claim: ["realm_access", "roles"], roles_required: ["admin"] },
    ],
    ["with a required group", { claims: { groups: ["x", "staff"] } }, { groups_required: ["staff"] }],
  ];
  for (const [what, making, config] of accepted) {
    it(`${what} is accepted`, async (test) => {
      const provider = await startStubProvider(test);
      const { exchange, answer } = await instanceFor(provider, config).send(provider.token(making));
      assert.equal(answer, undefined);
      assert.deepEqual(exchange.credential, { id: "alice", consumer: null });
      assert.equal(exchange.anonymous, false);
    });
  }

  const refused: readonly (readonly [what: string, making: TokenMembers, reason: string, config?: object])[] = [
    ["with the algorithm none", { header: { alg: "none" } }, "the token cannot be read: invalid alg"],
    ["with the algorithm NonE", { header: { alg: "NonE" } }, "the token cannot be read: invalid alg"],
    ["without an algorithm", { header: { alg: undefined } }, "the token cannot be read: invalid alg"],
    [
      "signed with an unknown key under the kid of a known key",
      { pair: "other", header: { kid: "rsa" } },
      "the signature of the token is wrong",
    ],
    ["signed with an unknown key", { pair: "other" }, "the provider has no key for the token"],
    ["whose key has another type", { pair: "rsa", header: { kid: "ec" } }, "the provider has no key for the token"],
    [
      "whose key is not for its algorithm",
      { pair: "ec", header: { alg: "ES384" } },
      "the provider has no key for the token",
    ],
    ["whose kid is a list", { header: { kid: ["rsa"] } }, "the provider has no key for the token"],
    [
      "signed with the client's secret, if that is not enabled",
      { header: { alg: "HS256" } },
      "the signature of the token is wrong",
    ],
    [
      "signed with another secret",
      { header: { alg: "HS256" } },
      "the signature of the token is wrong",
      { enable_hs_signatures: true, client_secret: "another secret of the client, as long as a key" },
    ],
    [
      "signed with a secret that is shorter than the hash of the algorithm",
      { header: { alg: "HS384" } },
      "the client's secret is too short for HS384",
      { enable_hs_signatures: true, client_secret: CLIENT_SECRET },
    ],
    [
      "with critical headers",
      { header: { crit: ["exp"] } },
      "the token cannot be read: critical headers are not supported",
    ],
    [
      "of the type logout+jwt",
      { header: { typ: "logout+jwt" } },
      "the token is not an access token: its header typ names another type",
    ],
    [
      "about an event, such as a logout",
      { claims: { events: { "http://schemas.openid.net/event/backchannel-logout": {} } } },
      "the token is not an access token: it is about an event",
    ],
    ["of another issuer", { claims: { iss: "https://another.test" } }, "the token has another issuer"],
    ["without an issuer", { claims: { iss: undefined } }, "the token has another issuer"],
    ["with a list of issuers", { claims: { iss: ["https://another.test"] } }, "the token has another issuer"],
    ["that has expired", { claims: { exp: NOW } }, "the token has expired"],
    ["that expired as long ago as the leeway", { claims: { exp: NOW - 5 } }, "the token has expired", { leeway: 5 }],
    ["that expired longer ago than the leeway", { claims: { exp: NOW - 6 } }, "the token has expired", { leeway: 5 }],
    ["that does not expire", { claims: { exp: undefined } }, "the token has no expiry"],
    ["whose exp is a string", { claims: { exp: String(NOW + 60) } }, "the token has no expiry"],
    ["that is not valid yet", { claims: { nbf: NOW + 1 } }, "the token is not valid yet"],
    ["whose nbf is a string", { claims: { nbf: "0" } }, "the token is not valid yet"],
    ["of more than 16 KiB", { claims: { text: "x".repeat(20_000) } }, "the token cannot be read: invalid JSON"],
  ];
  for (const [what, making, reason, config] of refused) {
    it(`${what} is refused with 401`, async (test) => {
      const provider = await startStubProvider(test);
      const { exchange, answer } = await instanceFor(provider, config).send(provider.token(making));
      assert.deepEqual([answer?.status, answer?.message], [401, "Unauthorized"]);
      const realm = new URL(provider.issuer).host;
      assert.equal(
        answer?.headers?.["WWW-Authenticate"],
        `Bearer realm="${realm}", error="invalid_token", error_description="${reason}"`,
      );
      assert.equal(exchange.credential, null);
    });
  }

  const broken: readonly (readonly [what: string, change: (token: string) => string])[] = [
    ["without its signature", (token) => token.slice(0, token.lastIndexOf(".") + 1)],
    ["whose claims were changed", (token) => token.replace(/\.[^.]+\./, `.${base64url('{"sub":"root"}')}.`)],
    ["with a fourth part", (token) => `${token}.x`],
    ["that is not a JSON Web Token", () => "nonsense"],
    ["with deeply nested claims", () => `${base64url('{"alg":"RS256"}')}.${base64url(`{"a":${"[".repeat(6000)}`)}.x`],
    ["whose header is a list", (token) => token.replace(/^[^.]+/, base64url("[]"))],
  ];
  for (const [what, change] of broken) {
    it(`${what} is refused with 401`, async (test) => {
      const provider = await startStubProvider(test);
      const { send } = instanceFor(provider);
      assert.equal((await send(provider.token())).answer, undefined);
      assert.equal((await send(change(provider.token()))).answer?.status, 401);
    });
  }

  for (const [what, key] of [
    ["that is private", { ...jwkOf("rsa"), d: "x" }],
    ["for encryption", jwkOf("rsa", { use: "enc" })],
    ["for other operations", jwkOf("rsa", { key_ops: ["encrypt"] })],
    ["of another algorithm", jwkOf("rsa", { alg: "PS256" })],
    ["that is too short", jwkOf("short", { kid: "rsa" })],
    ["that is symmetric", { kty: "oct", kid: "rsa", k: base64url("key") }],
    ["that is broken", { kty: "RSA", kid: "rsa", n: "x".repeat(400), e: 7 }],
  ] as const) {
    it(`is refused if the provider publishes only a key ${what}`, async (test) => {
      const provider = await startStubProvider(test);
      provider.setKeys([key]);
      const pair = what === "that is too short" ? "short" : "rsa";
      const token = provider.token({ pair, header: { kid: "rsa" } });
      assert.equal((await instanceFor(provider).send(token)).answer?.status, 401);
    });
  }

  const insufficient: readonly (readonly [claims: object, config: object])[] = [
    [{ aud: "other" }, { audience_required: ["mine"] }],
    [{}, { audience_required: ["mine"] }],
    [{ aud: { mine: true } }, { audience_required: ["mine"] }],
    [{ scope: "one" }, { scopes_required: ["one two"] }],
    [{ scope: "one" }, { scopes_required: [" "] }],
    [{ scope: "xone" }, { scopes_required: ["one"] }],
    [{ groups: "a" }, { groups_required: ["b"] }],
    [{ constructor: { name: "x" } }, { roles_claim: ["constructor", "prototype"], roles_required: ["x"] }],
    [{}, { roles_claim: ["constructor", "name"], roles_required: ["Object"] }],
    [{ sub: "nobody" }, { consumer_claim: ["sub"] }],
    [{ sub: ["alice"] }, { consumer_claim: ["sub"] }],
    [{ sub: "alice" }, { consumer_claim: ["sub"], consumer_by: ["id"] }],
    [{ sub: "c-1" }, { consumer_claim: ["sub"], consumer_by: ["username", "custom_id"] }],
  ];
  for (const [claims, config] of insufficient) {
    it(`with ${JSON.stringify(claims)} is refused with 403 by ${JSON.stringify(config)}`, async (test) => {
      const provider = await startStubProvider(test);
      const { send } = instanceFor(provider, { ...config, anonymous: "alice", display_errors: false });
      const token = provider.token({ claims });
      const { exchange, answer } = await send({ headers: { authorization: `Bearer ${token}` }, consumers: [alice] });
      assert.deepEqual([answer?.status, answer?.message], [403, "Forbidden"]);
      assert.match(`${answer?.headers?.["WWW-Authenticate"]}`, /^Bearer realm="[^"]+", error="insufficient_scope"$/);
      assert.equal(exchange.consumer, null);
    });
  }

  for (const [claims, by] of [
    [{ sub: "alice" }, ["username"]],
    [{ sub: "crm-7" }, ["username", "custom_id"]],
    [{ sub: "c-1" }, ["id"]],
  ] as const) {
    it(`with the subject ${claims.sub} is attributed to the consumer with this ${by.at(-1)}`, async (test) => {
      const provider = await startStubProvider(test);
      const { send } = instanceFor(provider, { consumer_claim: ["sub"], consumer_by: by });
      const headers = { authorization: `Bearer ${provider.token({ claims })}` };
      const { exchange, answer } = await send({ headers, consumers: [alice] });
      assert.equal(answer, undefined);
      assert.equal(exchange.consumer, alice);
      assert.equal(exchange.upstreamHeaders.get("X-Consumer-ID"), "c-1");
      assert.equal(exchange.upstreamHeaders.get("X-Credential-Identifier"), claims.sub);
      assert.deepEqual(exchange.credential, { id: claims.sub, consumer: { id: "c-1" } });
    });
  }

  it("without a consumer is accepted with consumer_optional", async (test) => {
    const provider = await startStubProvider(test);
    const { send } = instanceFor(provider, { consumer_claim: ["sub"], consumer_optional: true });
    const { exchange, answer } = await send(provider.token({ claims: { sub: "nobody" } }));
    assert.deepEqual([answer, exchange.consumer, exchange.credential?.id], [undefined, null, "nobody"]);
  });

  it("sets groups and headers from its claims, and removes a client's header whose claim is missing", async (test) => {
    const provider = await startStubProvider(test);
    const { send } = instanceFor(provider, {
      upstream_headers_claims: ["email", "roles", "missing"],
      upstream_headers_names: ["X-Email", "X-Roles", "X-Missing"],
      downstream_headers_claims: ["sub"],
      downstream_headers_names: ["X-Subject"],
      authenticated_groups_claim: ["groups"],
    });
    const claims = { email: "a\r\nX-Evil: 1", roles: ["a", "b"], groups: ["g"] };
    const headers = { authorization: `Bearer ${provider.token({ claims })}`, "x-missing": "forged" };
    const { exchange } = await send({ headers });
    assert.equal(exchange.upstreamHeaders.get("X-Email"), "a%0D%0AX-Evil: 1");
    assert.equal(exchange.upstreamHeaders.get("X-Roles"), '["a","b"]');
    assert.deepEqual(exchange.upstreamHeaderValues("x-missing"), []);
    assert.equal(exchange.responseHeaders.get("X-Subject"), "alice");
    assert.deepEqual(exchange.authenticatedGroups, ["g"]);
  });

  it("that was verified is refused once it has expired", async (test) => {
    const provider = await startStubProvider(test);
    const { send, advance } = instanceFor(provider);
    assert.equal((await send(provider.token())).answer, undefined);
    advance(600_000);
    assert.equal((await send(provider.token())).answer?.status, 401);
  });
});

describe("the token of a request of openid-connect", () => {
  const places: readonly (readonly [what: string, request: (token: string) => FakeExchangeOptions, config?: object])[] =
    [
      ["the header Authorization", (token) => ({ headers: { authorization: `bearer ${token}` } })],
      ["the header access-token", (token) => ({ headers: { "access-token": token } })],
      ["the header x-access-token, after Bearer", (token) => ({ headers: { "x-access-token": `Bearer ${token}` } })],
      ["the query", (token) => ({ query: `?a=1&access_token=${token}` })],
      [
        "a form",
        (token) => ({
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: `a=1&access_token=${token}`,
        }),
      ],
      [
        "a cookie",
        (token) => ({ headers: { cookie: `a=1; tok=${token}` } }),
        { bearer_token_param_type: ["cookie"], bearer_token_cookie_name: "tok" },
      ],
    ];
  for (const [what, requestOf, config] of places) {
    it(`is found in ${what}, and removed with hide_credentials`, async (test) => {
      const provider = await startStubProvider(test);
      const token = provider.token();
      const shown = await instanceFor(provider, config).send(requestOf(token));
      assert.equal(shown.answer, undefined);
      assert.equal(shown.exchange.upstreamHeaders.get("authorization"), `Bearer ${token}`);
      const { exchange } = await instanceFor(provider, { ...config, hide_credentials: true }).send(requestOf(token));
      const forwarded = ["authorization", "access-token", "x-access-token", "cookie"] as const;
      assert.ok(!forwarded.some((name) => exchange.upstreamHeaderValues(name).join().includes(token)));
      if (what === "the query") assert.deepEqual(exchange.removedQuery, ["access_token"]);
      if (what === "a form") assert.equal(exchange.replacedBody?.toString(), "a=1");
      if (what === "a cookie") assert.deepEqual(exchange.upstreamHeaderValues("cookie"), ["a=1"]);
    });
  }

  it("is not looked for in places that are not configured", async (test) => {
    const provider = await startStubProvider(test);
    const { send } = instanceFor(provider, { bearer_token_param_type: ["header"] });
    const { answer } = await send({ query: `?access_token=${provider.token()}` });
    const realm = new URL(provider.issuer).host;
    assert.deepEqual(answer, {
      status: 401,
      message: "Unauthorized",
      headers: { "WWW-Authenticate": `Bearer realm="${realm}"` },
    });
  });

  it("is sent to the upstream in the header of upstream_access_token_header", async (test) => {
    const provider = await startStubProvider(test);
    const token = provider.token();
    const { exchange } = await instanceFor(provider, { upstream_access_token_header: "X-Token" }).send(token);
    assert.equal(exchange.upstreamHeaders.get("x-token"), token);
  });

  it("may be invalid or missing with anonymous: the request is attributed to the anonymous consumer", async (test) => {
    const provider = await startStubProvider(test);
    const { send } = instanceFor(provider, { anonymous: "alice" });
    for (const authorization of ["", "Bearer e30.e30.e30"]) {
      const headers = { authorization };
      const { exchange, answer } = await send({ headers, consumers: [alice] });
      assert.deepEqual([answer, exchange.consumer, exchange.anonymous], [undefined, alice, true]);
    }
  });

  it("is not needed for OPTIONS with run_on_preflight false, and is needed by default", async (test) => {
    const provider = await startStubProvider(test);
    assert.equal(
      (await instanceFor(provider, { run_on_preflight: false }).send({ method: "OPTIONS" })).answer,
      undefined,
    );
    assert.equal((await instanceFor(provider).send({ method: "OPTIONS" })).answer?.status, 401);
  });
});
