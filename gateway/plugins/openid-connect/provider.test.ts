import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { refusingPort } from "../../../test/plugins/log-servers.ts";
import {
  DISCOVERY,
  jwkOf,
  type RequestListener,
  startStubProvider,
} from "../../../test/plugins/stub-openid-provider.ts";
import { instanceFor } from "./testing.ts";

const text =
  (body: string, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end(body);
const json = (value: unknown) => text(JSON.stringify(value));

describe("a provider of openid-connect", () => {
  const bad: readonly (readonly [what: string, path: string, answer: (issuer: string) => RequestListener])[] = [
    ["that does not answer", DISCOVERY, () => () => {}],
    ["that does not answer with its keys", "/jwks", () => () => {}],
    [
      "that stops in the middle of its keys",
      "/jwks",
      () => (_request, response) => response.writeHead(200, { "content-length": "1000" }).write('{"keys":['),
    ],
    [
      "that sends its keys one character at a time",
      "/jwks",
      () => (_request, response) => {
        response.writeHead(200, { "content-length": "1000" });
        const timer = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(timer));
      },
    ],
    ["that closes the connection", "/jwks", () => (_request, response) => response.destroy()],
    [
      "that redirects to another document",
      DISCOVERY,
      (issuer) => (_request, response) => response.writeHead(302, { location: `${issuer}/elsewhere` }).end(),
    ],
    [
      "that redirects to other keys",
      "/jwks",
      (issuer) => (_request, response) => response.writeHead(307, { location: `${issuer}/elsewhere` }).end(),
    ],
    ["whose document has 10 MB", DISCOVERY, () => text("x".repeat(10_000_000))],
    ["whose keys have 10 MB", "/jwks", () => text(`{"keys":[],"x":"${"x".repeat(10_000_000)}"}`)],
    ["whose document is not JSON", DISCOVERY, () => text("<html>")],
    ["whose document is null", DISCOVERY, () => json(null)],
    ["whose document names no issuer", DISCOVERY, (issuer) => json({ jwks_uri: `${issuer}/jwks` })],
    [
      "whose document names another issuer",
      DISCOVERY,
      (issuer) => json({ issuer: "https://another.test", jwks_uri: `${issuer}/jwks` }),
    ],
    ["whose document has no jwks_uri", DISCOVERY, (issuer) => json({ issuer })],
    ["whose jwks_uri is the URL of a file", DISCOVERY, (issuer) => json({ issuer, jwks_uri: "file:///etc/passwd" })],
    ["whose jwks_uri is a number", DISCOVERY, (issuer) => json({ issuer, jwks_uri: 7 })],
    ["that answers with the status 500", DISCOVERY, () => text("no", 500)],
    ["whose keys are missing", "/jwks", () => text("no", 404)],
    ["whose keys are not a key set", "/jwks", () => json([])],
  ];
  for (const [what, path, answer] of bad) {
    it(`${what} makes the gateway answer 503, even if there is an anonymous consumer`, async (test) => {
      const provider = await startStubProvider(test);
      provider.answer(path, answer(provider.issuer));
      const { send, warnings } = instanceFor(provider, { timeout: 200, anonymous: "guest" });
      const { exchange, answer: response } = await send(provider.token());
      assert.deepEqual([response?.status, response?.message], [503, "Service unavailable"]);
      assert.match(
        response?.reason ?? "",
        /^openid-connect: the provider cannot be reached, or its answer is invalid: /,
      );
      assert.equal(exchange.credential, null);
      assert.equal(warnings.length, 1);
      assert.equal(provider.requests.get("/elsewhere"), undefined);
    });
  }

  it("whose port is closed makes the gateway answer 503", async () => {
    const { send } = instanceFor({ issuer: `http://127.0.0.1:${await refusingPort()}` });
    assert.equal((await send("e30.e30.e30")).answer?.status, 503);
  });

  it("at an address that plugins must not reach makes the gateway answer 503", async () => {
    const { send } = instanceFor({ issuer: "http://169.254.169.254" }, { timeout: 1000 });
    const { answer } = await send("e30.e30.e30");
    assert.equal(answer?.status, 503);
    assert.match(answer?.reason ?? "", /169\.254/);
  });

  it("that failed is requested again after a second, once for all clients", async (test) => {
    const provider = await startStubProvider(test);
    provider.answer(DISCOVERY, text("no", 500));
    const { send, advance } = instanceFor(provider);
    const statuses = async () =>
      (await Promise.all([1, 2, 3].map(() => send(provider.token())))).map(({ answer }) => answer?.status);
    assert.deepEqual(await statuses(), [503, 503, 503]);
    assert.deepEqual(await statuses(), [503, 503, 503]);
    assert.equal(provider.requests.get(DISCOVERY), 1);
    provider.answer(DISCOVERY, json({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks` }));
    advance(1000);
    assert.deepEqual(await statuses(), [undefined, undefined, undefined]);
    assert.equal(provider.requests.get(DISCOVERY), 2);
  });

  it("is asked for new keys if a token names an unknown key, once in rediscovery_lifetime", async (test) => {
    const provider = await startStubProvider(test);
    const { send, advance } = instanceFor(provider, { rediscovery_lifetime: 30 });
    const rotated = provider.token({ pair: "other" });
    assert.equal((await send(provider.token())).answer, undefined);
    assert.equal((await send(rotated)).answer?.status, 401);
    assert.equal(provider.requests.get("/jwks"), 1, "within 30 seconds of the first request");
    provider.setKeys([jwkOf("other")]);
    advance(30_000);
    assert.equal((await send(rotated)).answer, undefined);
    for (let count = 0; count < 5; count++) {
      const invented = provider.token({ pair: "other", header: { kid: `invented-${count}` } });
      assert.equal((await send(invented)).answer?.status, 401);
    }
    assert.equal(provider.requests.get("/jwks"), 2);
    assert.equal((await send(provider.token())).answer?.status, 401, "the former key is no longer accepted");
  });

  it("that fails: its known keys stay in use, and withdrawn keys are refused once it answers again", async (test) => {
    const provider = await startStubProvider(test);
    const { send, advance } = instanceFor(provider);
    const token = provider.token({ claims: { exp: undefined } });
    const lasting = provider.token({ claims: { exp: 4_000_000_000 } });
    assert.equal((await send(token)).answer?.status, 401);
    assert.equal((await send(lasting)).answer, undefined);
    provider.answer("/jwks", text("no", 500));
    advance(600_000);
    for (let count = 0; count < 3; count++) assert.equal((await send(lasting)).answer, undefined);
    provider.answer("/jwks", json({ keys: [jwkOf("other")] }));
    advance(30_000);
    const refused = async () => (await send(lasting)).answer?.status === 401;
    while (!(await refused())) await new Promise((resolve) => setImmediate(resolve));
  });

  it("may name an issuer that issuers_allowed lists", async (test) => {
    const provider = await startStubProvider(test);
    const issuer = "https://login.test/tenant";
    provider.answer(DISCOVERY, json({ issuer, jwks_uri: `${provider.issuer}/jwks` }));
    const { send } = instanceFor(provider, { issuers_allowed: [issuer] });
    assert.equal((await send(provider.token({ claims: { iss: issuer } }))).answer, undefined);
    assert.equal((await send(provider.token())).answer?.status, 401);
  });

  it("may be configured by the URL of its discovery document, or by its issuer with a slash at the end", async (test) => {
    const provider = await startStubProvider(test);
    for (const issuer of [`${provider.issuer}${DISCOVERY}`, `${provider.issuer}/`]) {
      assert.equal((await instanceFor({ issuer }).send(provider.token())).answer, undefined, issuer);
    }
  });
});
