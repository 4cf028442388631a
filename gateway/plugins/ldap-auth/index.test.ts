/** ldap-auth with a real LDAP server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { type LdapServer, startLdapServer } from "../../../tools/programs/servers/ldap.ts";
import { ldapAuth } from "./index.ts";

const passwords = {
  alice: "wonderland",
  "Müller, a+b": "p:ä:ss",
  ' #x<y>;="\\ ': "special",
};

const guest = fakeConsumer({ id: "c-0", username: "guest" });

/** The value of an Authorization header. */
const login = (text: string | Buffer, scheme = "ldap ") => `${scheme}${Buffer.from(text).toString("base64")}`;

const alice = { authorization: login("alice:wonderland") };

describe("ldap-auth", () => {
  let server: LdapServer;
  before(async () => {
    server = await startLdapServer(passwords);
  });
  after(() => server.stop());

  const people = { base_dn: "ou=people,dc=example,dc=com", attribute: "uid" };

  /** An instance and its clock. */
  function start(config: object = {}) {
    let now = 1_700_000_000_000;
    const context = fakeContext({ now: () => now, authorities: [server.authority] });
    const members = { ldap_host: "127.0.0.1", ldap_port: server.port, ...people, ...config };
    const { access } = ldapAuth.phases(withConfigDefaults("ldap-auth", members), context);
    return {
      async send(headers: FakeExchangeOptions["headers"] = {}) {
        const exchange = fakeExchange({ headers, consumers: [guest] });
        return { exchange, answer: await access?.(exchange) };
      },
      advance(milliseconds: number) {
        now += milliseconds;
      },
      end: () => context.end(),
    };
  }

  async function send(headers: FakeExchangeOptions["headers"], config: object = {}) {
    const instance = start(config);
    try {
      return await instance.send(headers);
    } finally {
      instance.end();
    }
  }

  for (const [what, username, headers] of [
    ["the correct password", "alice", alice],
    ["the scheme in upper case", "alice", { authorization: login("alice:wonderland", "LDAP ") }],
    ["several spaces after the scheme", "alice", { authorization: login("alice:wonderland", "ldap   ") }],
    ["a line feed after the password", "alice", { authorization: login("alice:wonderland\n") }],
    ["the header Proxy-Authorization", "alice", { "proxy-authorization": login("alice:wonderland") }],
    [
      "Authorization if the password in Proxy-Authorization is wrong",
      "alice",
      { "proxy-authorization": login("alice:other"), ...alice },
    ],
    [
      "Authorization if Proxy-Authorization has another scheme",
      "alice",
      { "proxy-authorization": "Basic x", ...alice },
    ],
    ["a password with colons and letters outside ASCII", "Müller, a+b", { authorization: login("Müller, a+b:p:ä:ss") }],
    [
      "a user name of characters with a special meaning in distinguished names",
      ' #x<y>;="\\ ',
      { authorization: login(' #x<y>;="\\ :special') },
    ],
  ] as const) {
    it(`accepts ${what}, and sends the user name to the upstream`, async () => {
      const { exchange, answer } = await send(headers);
      assert.equal(answer, undefined);
      assert.deepEqual([exchange.consumer, exchange.anonymous], [null, false]);
      const sent = exchange.upstreamHeaders.get("X-Credential-Identifier") ?? "";
      assert.equal(Buffer.from(sent, "latin1").toString("utf8"), username);
      assert.deepEqual(exchange.upstreamHeaders.valuesOver("x-anonymous-consumer", ["sent"]), []);
    });
  }

  for (const [what, headers] of [
    ["a request without Authorization and Proxy-Authorization", {}],
    ["a wrong password", { authorization: login("alice:other") }],
    ["an unknown user", { authorization: login("bob:wonderland") }],
    ["a pattern as the user name", { authorization: login("ali*:wonderland") }],
    ["an empty password, with which a bind would succeed", { authorization: login("alice:") }],
    ["a password that is a null character", { authorization: login("alice:\0") }],
    ["a password with a null character at the end", { authorization: login("alice:wonderland\0") }],
    ["a password with a line feed in the middle", { authorization: login("alice:wonder\nland") }],
    ["a user name with a null character", { authorization: login("alice\0x:wonderland") }],
    ["a password without a user name", { authorization: login(":wonderland") }],
    ["a user name without a password", { authorization: login("alice") }],
    ["a user name that is not UTF-8", { authorization: login(Buffer.from("alic\xe9:x", "latin1")) }],
    ["text that is not Base64", { authorization: "ldap ???" }],
    ["a scheme without credentials", { authorization: "ldap " }],
    ["a scheme without a space after it", { authorization: login("alice:wonderland", "ldap") }],
    ["another scheme", { authorization: login("alice:wonderland", "Basic ") }],
    ["a scheme that begins with the configured one", { authorization: login("alice:wonderland", "ldap2 ") }],
    ["a password of 10 kB", { authorization: login(`alice:${"x".repeat(10_000)}`) }],
  ] as const) {
    it(`answers 401 to ${what}`, async () => {
      const { answer, exchange } = await send(headers);
      assert.deepEqual(answer, { status: 401, message: "Unauthorized", headers: { "WWW-Authenticate": "LDAP" } });
      assert.equal(exchange.credential, null);
    });
  }

  it("answers 401 to a user name that contains a further part of a distinguished name, and would select another entry if it were not escaped", async () => {
    const config = { base_dn: "dc=example,dc=com" };
    const { answer } = await send({ authorization: login("alice,ou=people:wonderland") }, config);
    assert.deepEqual([answer?.status, answer?.reason], [401, undefined]);
  });

  it("expects the scheme of header_type, and sends it in the challenge with the realm", async () => {
    const config = { header_type: "Basic", realm: 'the "office"' };
    assert.equal((await send({ authorization: login("alice:wonderland", "basic ") }, config)).answer, undefined);
    const { answer } = await send(alice, config);
    assert.equal(answer?.headers?.["WWW-Authenticate"], 'Basic realm="the \\"office\\""');
  });

  it("compares header_type literally, not as a pattern", async () => {
    assert.equal((await send(alice, { header_type: ".dap" })).answer?.status, 401);
  });

  it("with hide_credentials, removes both headers after a successful login, but only the header with the password after a failed one", async () => {
    const kept = async (headers: FakeExchangeOptions["headers"], config: object) => {
      const { upstreamHeaders } = (await send(headers, config)).exchange;
      return ["authorization", "proxy-authorization"].map((name) => upstreamHeaders.valuesOver(name, ["sent"]).length);
    };
    const hide = { hide_credentials: true, anonymous: "guest" };
    assert.deepEqual(await kept(alice, {}), [1, 1]);
    assert.deepEqual(await kept(alice, hide), [0, 0]);
    assert.deepEqual(await kept({ authorization: login("alice:other") }, hide), [0, 1]);
    assert.deepEqual(await kept({ authorization: "Bearer token" }, hide), [1, 1]);
  });

  it("attributes requests with a wrong password to the anonymous consumer", async () => {
    const { exchange, answer } = await send({ authorization: login("alice:other") }, { anonymous: "guest" });
    assert.equal(answer, undefined);
    assert.deepEqual([exchange.consumer, exchange.anonymous], [guest, true]);
    assert.equal(exchange.upstreamHeaders.get("X-Anonymous-Consumer"), "true");
  });

  it("derives the same credential id for a user on every node, and another id for another user", async () => {
    const ids = [];
    for (const config of [{}, { cache_ttl: 1 }, people]) ids.push((await send(alice, config)).exchange.credential?.id);
    assert.deepEqual(ids, [ids[0], ids[0], ids[0]]);
    assert.match(ids[0] ?? "", /^[\da-f]{64}$/);
    const other = await send({ authorization: login("Müller, a+b:p:ä:ss") });
    assert.notEqual(other.exchange.credential?.id, ids[0]);
  });

  for (const [what, config] of [
    ["TLS", () => ({ ldap_host: "localhost", ldap_port: server.tlsPort, ldaps: true, verify_ldap_host: true })],
    ["StartTLS", () => ({ ldap_host: "localhost", start_tls: true, verify_ldap_host: true })],
    ["an unverified certificate", () => ({ ldap_port: server.tlsPort, ldaps: true })],
    ["an unverified certificate after StartTLS", () => ({ start_tls: true })],
  ] as const) {
    it(`verifies correct and wrong passwords with ${what}`, async () => {
      const instance = start({ cache_ttl: 0, ...config() });
      for (const [password, status] of [
        ["wonderland", undefined],
        ["other", 401],
        ["wonderland", undefined],
      ] as const) {
        const { answer } = await instance.send({ authorization: login(`alice:${password}`) });
        assert.equal(answer?.status, status);
      }
      instance.end();
    });
  }

  for (const [what, config] of [
    ["whose certificate has another name", () => ({ ldap_port: server.tlsPort, ldaps: true, verify_ldap_host: true })],
    ["whose certificate has another name after StartTLS", () => ({ start_tls: true, verify_ldap_host: true })],
    ["that expects TLS", () => ({ ldap_port: server.tlsPort, timeout: 300 })],
    ["that expects no TLS", () => ({ ldaps: true, timeout: 300 })],
    ["at a forbidden address", () => ({ ldap_host: "169.254.169.254", timeout: 300 })],
  ] as const) {
    it(`answers 500 with the reason in the log for a server ${what}, even with an anonymous consumer`, async () => {
      const { answer } = await send(alice, { anonymous: "guest", ...config() });
      assert.deepEqual([answer?.status, answer?.message], [500, "An unexpected error occurred"]);
      assert.match(answer?.reason ?? "", /^ldap-auth: the LDAP server .* cannot be used: /);
    });
  }

  it("answers 401 with the reason in the log if base_dn is invalid", async () => {
    const { answer } = await send(alice, { base_dn: "people" });
    assert.equal(answer?.status, 401);
    assert.match(answer?.reason ?? "", /refused the bind with the code 34: invalid DN/);
  });

  const needed = { ldap_host: "ldap.test", base_dn: "dc=test", attribute: "uid" };
  for (const [what, config, violations] of [
    [
      "without its required members",
      {},
      ["attribute: required field missing", "base_dn: required field missing", "ldap_host: required field missing"],
    ],
    ["with an invalid host", { ...needed, ldap_host: "a b" }, ["ldap_host: invalid value: a b"]],
    ["with an invalid port", { ...needed, ldap_port: 65_536 }, ["ldap_port: value should be between 0 and 65535"]],
    [
      "with both forms of TLS",
      { ...needed, ldaps: true, start_tls: true },
      ["start_tls: value must be false", "@entity: 'ldaps' and 'start_tls' cannot be enabled simultaneously"],
    ],
  ] as const) {
    it(`refuses a config ${what}`, () => {
      assert.deepEqual(configViolations("ldap-auth", config).toSorted(), violations.toSorted());
    });
  }

  it("has Kong's defaults", () => {
    assert.deepEqual(withConfigDefaults("ldap-auth", needed), {
      ...needed,
      ldap_port: 389,
      ldaps: false,
      start_tls: false,
      verify_ldap_host: false,
      cache_ttl: 60,
      hide_credentials: false,
      timeout: 10_000,
      keepalive: 60_000,
      anonymous: null,
      header_type: "ldap",
      realm: null,
    });
  });
});
