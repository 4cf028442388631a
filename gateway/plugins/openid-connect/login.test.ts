/** What a login accepts from the browser and from the provider. */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, it } from "node:test";
import { DISCOVERY, NOW, type TokenMembers } from "../../../test/plugins/stub-openid-provider.ts";
import { instanceFor } from "./testing.ts";
import { answerTokens, beginLogin, CALLBACK, config, cookiesOf, returnToGateway } from "./testing-login.ts";

describe("a login of openid-connect", () => {
  it("succeeds with valid tokens", async (test) => {
    const login = await beginLogin(test);
    answerTokens(login);
    const { exchange, answer } = await returnToGateway(login, `?code=c&state=${login.sent.get("state")}`);
    assert.equal(answer, undefined);
    assert.equal(exchange.credential?.id, "alice");
    assert.match(cookiesOf(exchange), /^session=/);
  });

  const refusedTokens: readonly (readonly [what: string, making: TokenMembers, members?: object])[] = [
    ["with another nonce", { claims: { nonce: "another" } }],
    ["without the nonce", { claims: { nonce: undefined } }],
    ["for another client", { claims: { aud: "another" } }],
    ["without an audience", { claims: { aud: undefined } }],
    ["for several clients, with another client in azp", { claims: { aud: ["gateway", "b"], azp: "b" } }],
    ["of another issuer", { claims: { iss: "https://another.test" } }],
    ["that has expired", { claims: { exp: NOW } }],
    ["without a subject", { claims: { sub: undefined } }],
    ["signed with an unknown key", { pair: "other" }],
    ["signed with an unknown key under the kid of a known key", { pair: "other", header: { kid: "rsa" } }],
    ["with the algorithm none", { header: { alg: "none" } }],
    ["signed with a secret", { header: { alg: "HS256" } }],
    ["that is a logout token", { header: { typ: "logout+jwt" } }],
    ["that is missing", {}, { id_token: undefined }],
    ["that is not a JSON Web Token", {}, { id_token: "nonsense" }],
    ["that is a number", {}, { id_token: 7 }],
  ];
  for (const [what, making, members] of refusedTokens) {
    it(`is refused with an ID token ${what}`, async (test) => {
      const login = await beginLogin(test);
      answerTokens(login, making, members);
      const { exchange, answer } = await returnToGateway(login, `?code=c&state=${login.sent.get("state")}`);
      assert.equal(answer?.status, 401);
      assert.equal(exchange.credential, null);
      assert.doesNotMatch(cookiesOf(exchange), /session=/);
    });
  }

  const refusedQueries: readonly (readonly [
    what: string,
    query: (state: string, issuer: string) => string,
    discovery?: object,
  ])[] = [
    ["two codes", (state) => `?code=a&code=b&state=${state}`],
    ["two states", (state) => `?code=a&state=${state}&state=x`],
    ["a code and an error", (state) => `?code=a&error=access_denied&state=${state}`],
    ["another issuer", (state) => `?code=a&state=${state}&iss=https%3A%2F%2Fevil.test`],
    ["two issuers", (state, issuer) => `?code=a&state=${state}&iss=${issuer}&iss=https%3A%2F%2Fevil.test`],
    [
      "no issuer, although the discovery document announces one",
      (state) => `?code=a&state=${state}`,
      { authorization_response_iss_parameter_supported: true },
    ],
    ["an empty code", (state) => `?code=&state=${state}`],
    ["an unknown error", (state) => `?error=%00&state=${state}`],
    ["an empty error", (state) => `?error=&state=${state}`],
  ];
  for (const [what, queryOf, discovery] of refusedQueries) {
    it(`is refused if the browser returns with ${what}`, async (test) => {
      const login = await beginLogin(test, { ...(discovery && { discovery }) });
      answerTokens(login);
      const query = queryOf(login.sent.get("state") ?? "", encodeURIComponent(login.provider.issuer));
      const { exchange, answer } = await returnToGateway(login, query);
      assert.equal(answer?.status, 401, `${answer?.status} ${answer?.reason}`);
      assert.equal(exchange.credential, null);
      assert.doesNotMatch(cookiesOf(exchange), /session=/);
    });
  }

  for (const path of ["//evil.test/x", "/\\evil.test", "/%0d%0aX: 1", "/.//evil.test", "/@evil.test"]) {
    it(`that began with a request for ${path} redirects back to the same origin`, async (test) => {
      const login = await beginLogin(test, { more: { login_action: "redirect" } });
      const { exchange, answer } = await login.instance.send({ path, sentPath: path, query: "?a=1" });
      const sent = new URL(`${answer?.headers?.Location}`).searchParams;
      const again = { ...login, cookie: cookiesOf(exchange), sent };
      answerTokens(again);
      const done = await returnToGateway(again, `?code=c&state=${sent.get("state")}`);
      assert.equal(done.answer?.status, 302);
      const location = `${done.answer?.headers?.Location}`;
      assert.equal(new URL(location).origin, "https://app.test");
    });
  }

  it("sends the configured redirect_uri to the provider, whatever the request says about its host", async (test) => {
    const login = await beginLogin(test);
    const headers = {
      host: "evil.test",
      "x-forwarded-host": "evil.test",
      "x-forwarded-proto": "ftp",
      forwarded: "host=evil.test",
    };
    const { answer } = await login.instance.send({ path: "/page", headers });
    assert.doesNotMatch(`${answer?.headers?.Location}`, /evil/);
    assert.equal(new URL(`${answer?.headers?.Location}`).searchParams.get("redirect_uri"), config.redirect_uri);
  });

  it("removes its cookie when it is completed, after which a repeated callback uses the session", async (test) => {
    const login = await beginLogin(test);
    answerTokens(login);
    const query = `?code=c&state=${login.sent.get("state")}`;
    const { exchange } = await returnToGateway(login, query);
    assert.ok(
      exchange.responseHeaders.valuesOver("set-cookie", []).some((each) => /^authorization=;.*Max-Age=0/.test(each)),
    );
    const { answer } = await login.instance.send({ path: CALLBACK, query, headers: { cookie: cookiesOf(exchange) } });
    assert.equal(answer, undefined);
  });

  it("ignores parameters of other OpenID Connect flows", async (test) => {
    const login = await beginLogin(test);
    answerTokens(login);
    const query = `?code=c&state=${login.sent.get("state")}&id_token=x.y.z&token=t&response=x.y.z`;
    assert.equal((await returnToGateway(login, query)).answer, undefined);
  });

  for (const redirect of ["https://app.test/callback?tenant=a", "https://app.test/callback"]) {
    it(`requests tokens with the redirect_uri ${redirect}, and with the verifier of the challenge`, async (test) => {
      const login = await beginLogin(test, { more: { redirect_uri: redirect } });
      let form = new URLSearchParams();
      login.provider.answer("/token", (request, response) => {
        let body = "";
        request.setEncoding("utf8").on("data", (piece: string) => {
          body += piece;
        });
        request.on("end", () => {
          form = new URLSearchParams(body);
          response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
        });
      });
      const { answer } = await returnToGateway(login, `?tenant=a&code=c&state=${login.sent.get("state")}`);
      assert.equal(answer?.status, 401);
      assert.equal(login.sent.get("redirect_uri"), redirect);
      assert.equal(form.get("redirect_uri"), redirect);
      const verifier = form.get("code_verifier") ?? "";
      assert.match(verifier, /^[\w-]{43}$/);
      assert.equal(hash("sha256", verifier, "base64url"), login.sent.get("code_challenge"));
    });
  }

  it("sets cookies that fit into a request, even if its tokens are long and other logins are under way", async (test) => {
    const login = await beginLogin(test);
    let { cookie, sent } = login;
    for (let tab = 0; tab < 6; tab++) {
      const path = `/${"x".repeat(380)}`;
      const { exchange, answer } = await login.instance.send({
        path,
        query: `?a=${"y".repeat(380)}`,
        headers: { cookie },
      });
      cookie = cookiesOf(exchange);
      sent = new URL(`${answer?.headers?.Location}`).searchParams;
    }
    answerTokens({ ...login, sent }, {}, { access_token: "x".repeat(7600) });
    const { exchange, answer } = await returnToGateway({ ...login, cookie }, `?code=c&state=${sent.get("state")}`);
    assert.equal(answer, undefined);
    const names = cookiesOf(exchange)
      .split("; ")
      .map((pair) => pair.split("=", 1)[0]);
    assert.ok(names.includes("session3") && names.includes("authorization"), names.join());
    assert.ok(cookiesOf(exchange).length < 15_000, `${cookiesOf(exchange).length} characters`);
  });

  it("begins a session that ends if a refresh returns an ID token of another subject", async (test) => {
    const login = await beginLogin(test);
    answerTokens(login, {}, { refresh_token: "r" });
    const { exchange } = await returnToGateway(login, `?code=c&state=${login.sent.get("state")}`);
    const headers = { cookie: cookiesOf(exchange) };
    login.instance.advance(61_000);
    answerTokens(login, { claims: { sub: "mallory", nonce: undefined } });
    const { exchange: after, answer } = await login.instance.send({ path: "/page", headers });
    assert.equal(answer?.status, 302);
    assert.equal(after.credential, null);
  });

  it("begins a session that ends at a logout even if the provider cannot be reached", async (test) => {
    const more = { logout_uri_suffix: "/logout" };
    const login = await beginLogin(test, { more });
    answerTokens(login);
    const { exchange } = await returnToGateway(login, `?code=c&state=${login.sent.get("state")}`);
    login.provider.answer(DISCOVERY, (_request, response) => response.writeHead(500).end());
    const restarted = instanceFor(login.provider, { ...config, ...more });
    const out = await restarted.send({ method: "POST", path: "/logout", headers: { cookie: cookiesOf(exchange) } });
    assert.equal(out.answer?.status, 503);
    assert.match(out.exchange.responseHeaders.get("set-cookie") ?? "", /^session=;.*Max-Age=0/);
  });
});
