import assert from "node:assert/strict";
import { hash, scryptSync } from "node:crypto";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { basicAuth } from "./index.ts";

const consumer = fakeConsumer({ username: "bob", custom_id: "crm-7" });
const guest = fakeConsumer({ id: "c-0", username: "guest" });
const salt = Buffer.alloc(16, 7);
const unpadded = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");

const PASSWORD = "open:sesame ü";
/** The forms in which a node stores the password. */
const stored = {
  kong: hash("sha1", `${PASSWORD}${consumer.id}`),
  file: `$sha256$${hash("sha256", `${consumer.id}${PASSWORD}`)}`,
  scrypt: `$scrypt$${unpadded(salt)}$${unpadded(scryptSync(PASSWORD, salt, 32))}`,
};
const credentials = Object.fromEntries(
  Object.entries(stored).map(([username, password]) => [
    username,
    { id: `id-${username}`, consumer: { id: consumer.id }, username, password },
  ]),
);

/** Another hash of the password, which no other test compares. */
const otherSalt = Buffer.alloc(16, 8);
const fresh = `$scrypt$${unpadded(otherSalt)}$${unpadded(scryptSync(PASSWORD, otherSalt, 32))}`;
const known = { id: "id-scrypt", consumer: { id: consumer.id }, username: "scrypt" };

const basic = (login: string, scheme = "Basic ") => `${scheme}${Buffer.from(login).toString("base64")}`;

async function send(headers: FakeExchangeOptions["headers"], config: object = {}, options: FakeExchangeOptions = {}) {
  const exchange = fakeExchange({
    headers: headers ?? {},
    consumers: [consumer, guest],
    credentials: { basicauth_credentials: credentials },
    ...options,
  });
  return {
    exchange,
    answer: await basicAuth.phases(withConfigDefaults("basic-auth", config), fakeContext()).access?.(exchange),
  };
}

describe("basic-auth", () => {
  it("admits exempt clients without a password, and hides what they send", async () => {
    const headers = { authorization: basic("unknown:wrong") };
    const config = { exempt: ["10.0.0.0/8"], hide_credentials: true };
    const inside = await send(headers, config, { clientAddress: "10.1.2.3" });
    assert.equal(inside.answer, undefined);
    assert.equal(inside.exchange.consumer, null);
    assert.deepEqual(inside.exchange.upstreamHeaderValues("authorization"), []);
    const outside = await send(headers, config, { clientAddress: "192.0.2.1" });
    assert.equal(outside.answer?.status, 401);
  });

  for (const [what, headers] of [
    ["a password that Kong has hashed", { authorization: basic(`kong:${PASSWORD}`) }],
    ["a password from a declarative file", { authorization: basic(`file:${PASSWORD}`) }],
    ["a password that was set through the admin API", { authorization: basic(`scrypt:${PASSWORD}`) }],
    ["the scheme in lower case", { authorization: basic(`kong:${PASSWORD}`, "basic ") }],
    ["several spaces after the scheme", { authorization: basic(`kong:${PASSWORD}`, "Basic   ") }],
    ["the scheme without a space", { authorization: basic(`kong:${PASSWORD}`, "Basic") }],
    ["the header Proxy-Authorization", { "proxy-authorization": basic(`kong:${PASSWORD}`) }],
    [
      "Authorization if the user of Proxy-Authorization is unknown",
      { "proxy-authorization": basic("other:x"), authorization: basic(`kong:${PASSWORD}`) },
    ],
    [
      "Authorization if Proxy-Authorization has another scheme",
      { "proxy-authorization": "Bearer x", authorization: basic(`kong:${PASSWORD}`) },
    ],
  ] as const) {
    it(`accepts ${what}, and sends the consumer's headers to the upstream`, async () => {
      const { exchange, answer } = await send(headers);
      assert.equal(answer, undefined);
      assert.equal(exchange.consumer, consumer);
      const { upstreamHeaders } = exchange;
      assert.equal(upstreamHeaders.get("X-Consumer-Username"), "bob");
      assert.match(upstreamHeaders.get("X-Credential-Identifier") ?? "", /^(kong|file|scrypt)$/);
    });
  }

  for (const [what, headers] of [
    ["a request without the header", {}],
    ["a wrong password, compared with Kong's hash", { authorization: basic("kong:open") }],
    ["a wrong password, compared with the hash from a file", { authorization: basic("file:open") }],
    ["a wrong password, compared with the hash of the admin API", { authorization: basic("scrypt:open") }],
    ["an unknown user", { authorization: basic(`other:${PASSWORD}`) }],
    ["a password without a user name", { authorization: basic(`:x`) }],
    ["a user name without a password", { authorization: basic("kong") }],
    ["an empty password", { authorization: basic("kong:") }],
    ["text that is not Base64", { authorization: "Basic ???" }],
    ["Base64 that is followed by other text", { authorization: `${basic(`kong:${PASSWORD}`)}?` }],
    ["a scheme without Base64 after it", { authorization: "Basic " }],
    ["the correct password with a space before it", { authorization: basic(`kong: ${PASSWORD}`) }],
    ["the correct password with a space after it", { authorization: basic(`kong:${PASSWORD} `) }],
    ["a user name with a space before it", { authorization: basic(` kong:${PASSWORD}`) }],
    ["another scheme", { authorization: `Bearer ${PASSWORD.slice(0, 4)}` }],
    ["the stored hash as the password", { authorization: basic(`kong:${stored.kong}`) }],
    [
      "a wrong password in Proxy-Authorization beside the correct one in Authorization",
      { "proxy-authorization": basic("kong:x"), authorization: basic(`kong:${PASSWORD}`) },
    ],
  ] as const) {
    it(`answers 401 to ${what}`, async () => {
      const { answer, exchange } = await send(headers);
      assert.deepEqual(answer, {
        status: 401,
        message: "Unauthorized",
        headers: { "WWW-Authenticate": 'Basic realm="service"' },
      });
      assert.equal(exchange.consumer, null);
    });
  }

  it("sends the realm of the config as a quoted string", async () => {
    const { answer } = await send({}, { realm: 'a "b"' });
    assert.equal(answer?.headers?.["WWW-Authenticate"], 'Basic realm="a \\"b\\""');
  });

  it("removes the Authorization header with hide_credentials, even if the password is wrong, and keeps it by default", async () => {
    for (const login of [`kong:${PASSWORD}`, "kong:x"]) {
      const { exchange } = await send({ authorization: basic(login) }, { hide_credentials: true, anonymous: "guest" });
      assert.deepEqual(exchange.upstreamHeaders.valuesOver("authorization", ["forwarded"]), []);
    }
    const { exchange } = await send({ authorization: basic(`kong:${PASSWORD}`) });
    assert.deepEqual(exchange.upstreamHeaders.valuesOver("authorization", ["forwarded"]), ["forwarded"]);
  });

  it("attributes requests without a valid password to the anonymous consumer", async () => {
    const { exchange, answer } = await send({ authorization: basic("scrypt:x") }, { anonymous: "guest" });
    assert.equal(answer, undefined);
    assert.deepEqual([exchange.consumer, exchange.anonymous], [guest, true]);
  });

  it("hashes a repeated password only once, whether it is correct or wrong", async () => {
    const { access } = basicAuth.phases(withConfigDefaults("basic-auth", {}), fakeContext());
    for (const [login, status] of [
      [`scrypt:${PASSWORD} `, 401],
      [`scrypt:${PASSWORD}`, undefined],
    ] as const) {
      const ask = () =>
        access?.(
          fakeExchange({
            headers: { authorization: basic(login) },
            consumers: [consumer],
            credentials: { basicauth_credentials: { scrypt: { ...known, password: fresh } } },
          }),
        );
      const first = ask();
      assert.ok(first instanceof Promise, "the first request waits for the hash");
      assert.equal((await first)?.status, status);
      const second = ask();
      assert.ok(!(second instanceof Promise), "the second request is decided at once");
      assert.equal(second?.status, status);
    }
  });

  it("answers 503 while too many passwords of one user wait to be hashed, and accepts the correct one afterwards", async () => {
    const wrong = (index: number) => send({ authorization: basic(`scrypt:guess-${index}`) });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => wrong(index)));
    const statuses = answers.map(({ answer }) => answer?.status).toSorted();
    assert.deepEqual(statuses, [401, 401, 401, 401, 503, 503, 503, 503, 503, 503]);
    assert.equal((await send({ authorization: basic(`scrypt:${PASSWORD}`) })).answer, undefined);
  });
});
