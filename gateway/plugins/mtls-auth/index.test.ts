import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientConnection, ExchangeCaCertificate, ExchangeCredentials } from "@sluice/plugin-sdk";
import {
  type FakeExchangeOptions,
  fakeConnection,
  fakeConsumer,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { mtlsAuth } from "./index.ts";
import { mtlsAuthFacts } from "./schema.ts";
import {
  type CertificateOptions,
  issueAuthority,
  issueTestCertificate,
  type SignedCertificate,
  VERIFICATION_TIME,
} from "./testing.ts";

const [rootId, otherId] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const root = await issueAuthority("CN=root");
const other = await issueAuthority("CN=other");
const caCertificates: readonly ExchangeCaCertificate[] = [
  { id: rootId, cert: root.pem },
  { id: otherId, cert: other.pem },
];
const leafOf = (options: Partial<CertificateOptions> = {}) =>
  issueTestCertificate({ subject: "CN=ann", issuer: root, ...options });

const ann = fakeConsumer({ id: "c-ann", username: "ann", custom_id: null });
const crm = fakeConsumer({ id: "c-crm", username: "crm", custom_id: "ann" });
const byName = fakeConsumer({ id: "c-mapped", username: "mapped" });
const byAuthority = fakeConsumer({ id: "c-by-ca", username: "by-ca" });
const guest = fakeConsumer({ id: "c-guest", username: "guest", custom_id: "guest-id" });
const consumers = [ann, crm, byName, byAuthority, guest];

type SubjectName = ExchangeCredentials["mtls_auth_credentials"];
const mapped = (id: string, consumer: { id: string }, ca: string | null): SubjectName => ({
  id,
  consumer: { id: consumer.id },
  subject_name: "ann",
  ca_certificate: ca === null ? null : { id: ca },
});

const secure = (...sent: readonly SignedCertificate[]): ClientConnection =>
  fakeConnection({ scheme: "https", clientCertificates: sent.map(({ certificate }) => certificate) });

const instance = (config: object = {}, now = () => VERIFICATION_TIME) =>
  mtlsAuth.phases(
    withConfigDefaults("mtls-auth", { ca_certificates: [rootId, otherId], ...config }),
    fakeContext({ now }),
  );

async function send(config: object, options: FakeExchangeOptions) {
  const exchange = fakeExchange({ caCertificates, consumers, ...options });
  return { exchange, answer: await instance(config).access?.(exchange) };
}

const outcomeOf = async (config: object, options: FakeExchangeOptions) => {
  const { exchange, answer } = await send(config, options);
  const { status, message } = answer ?? {};
  return answer === undefined ? (exchange.consumer?.username ?? null) : `${status} ${message}`;
};

const ABSENT = "401 No required TLS certificate was sent";
const FAILED = "401 TLS certificate failed verification";
const leaf = await leafOf();
const alternative = await leafOf({
  names: [
    { type: "email", value: "someone@else" },
    { type: "dns", value: "ann" },
  ],
});
const nameless = await leafOf({ names: [{ type: "upn", value: "ann" }] });
const strangeName = await leafOf({ names: [{ type: "dns", value: "stranger" }] });
const idAsName = await leafOf({ subject: "CN=c-ann" });
const stranger = await leafOf({ subject: "CN=stranger" });
const untrusted = await issueTestCertificate({ subject: "CN=ann" });

describe("mtls-auth", () => {
  const table: readonly (readonly [what: string, FakeExchangeOptions, outcome: string | null, config?: object])[] = [
    ["a request without TLS", {}, ABSENT],
    ["a connection without a certificate", { connection: secure() }, ABSENT],
    [
      "a connection whose handshake requested no certificate",
      { connection: fakeConnection({ scheme: "https" }) },
      "421 Misdirected request",
    ],
    ["a certificate that is not trusted", { connection: secure(untrusted) }, FAILED],
    ["a certificate without a consumer", { connection: secure(stranger) }, FAILED],
    ["a common name that is a username", { connection: secure(leaf) }, "ann"],
    ["a common name that is a custom_id", { connection: secure(leaf) }, "crm", { consumer_by: ["custom_id"] }],
    [
      "a common name that is a username and a custom_id, in the order of consumer_by",
      { connection: secure(leaf) },
      "crm",
      { consumer_by: ["custom_id", "username"] },
    ],
    ["a consumer's name with an empty consumer_by", { connection: secure(leaf) }, FAILED, { consumer_by: [] }],
    ["a consumer's name with consumer_by null", { connection: secure(leaf) }, FAILED, { consumer_by: null }],
    ["the second of the alternative names", { connection: secure(alternative) }, "ann"],
    [
      "alternative names of which none is a consumer's, whatever the common name",
      { connection: secure(strangeName) },
      FAILED,
    ],
    ["alternative names of other types, whatever the common name", { connection: secure(nameless) }, FAILED],
    ["a common name that is a consumer's id", { connection: secure(idAsName) }, FAILED],
    [
      "an mtls_auth_credential for the certificate's authority before one for any authority",
      { connection: secure(leaf), subjectNames: [mapped("1", byName, null), mapped("2", byAuthority, rootId)] },
      "by-ca",
    ],
    [
      "an mtls_auth_credential for any authority before names of consumers",
      { connection: secure(leaf), subjectNames: [mapped("1", byName, null)] },
      "mapped",
    ],
    [
      "an mtls_auth_credential for another authority",
      { connection: secure(leaf), subjectNames: [mapped("1", byName, otherId)] },
      FAILED,
      { consumer_by: [] },
    ],
    ["no certificate, with anonymous", { connection: secure() }, "guest", { anonymous: "guest" }],
    ["an untrusted certificate, with anonymous", { connection: secure(untrusted) }, "guest", { anonymous: "c-guest" }],
    [
      "a certificate without a consumer, with anonymous",
      { connection: secure(stranger) },
      "guest",
      { anonymous: "guest" },
    ],
    [
      "a certificate without a consumer, with default_consumer",
      { connection: secure(stranger) },
      "guest",
      { default_consumer: "guest" },
    ],
    [
      "an untrusted certificate, with default_consumer",
      { connection: secure(untrusted) },
      FAILED,
      { default_consumer: "guest" },
    ],
    [
      "a default_consumer that does not exist",
      { connection: secure(stranger) },
      "500 An unexpected error occurred",
      { default_consumer: "nobody", anonymous: "guest" },
    ],
    [
      "any trusted certificate, with skip_consumer_lookup",
      { connection: secure(stranger) },
      null,
      { skip_consumer_lookup: true },
    ],
    [
      "an untrusted certificate, with skip_consumer_lookup",
      { connection: secure(untrusted) },
      FAILED,
      { skip_consumer_lookup: true },
    ],
    ["a CA certificate that does not exist", { connection: secure(leaf), caCertificates: [] }, FAILED],
    [
      "two CA certificates of which one does not exist",
      { connection: secure(leaf), caCertificates: caCertificates.slice(0, 1) },
      "ann",
    ],
    [
      "a CA certificate that the plugin does not name",
      { connection: secure(leaf) },
      FAILED,
      { ca_certificates: [otherId] },
    ],
  ];
  for (const [what, options, outcome, config = {}] of table) {
    it(`${String(outcome).match(/^\d/) ? `answers ${outcome} to` : `attributes the request to ${outcome ?? "no consumer"}`}: ${what}`, async () => {
      assert.equal(await outcomeOf(config, options), outcome);
    });
  }

  it("logs the reason for refusing a certificate", async () => {
    const { answer } = await send({}, { connection: secure(untrusted) });
    assert.equal(answer?.reason, "mtls-auth: no chain leads to a trusted CA certificate");
  });

  it("passes the consumer and the subject name to the upstream", async () => {
    const { exchange } = await send({}, { connection: secure(leaf) });
    assert.deepEqual(exchange.upstreamHeaders.all(), {
      "x-consumer-id": "c-ann",
      "x-consumer-username": "ann",
      "x-credential-identifier": "ann",
    });
    assert.deepEqual([exchange.credential?.consumer, exchange.anonymous], [{ id: "c-ann" }, false]);
  });

  it("uses the id of an mtls_auth_credential as the id of the request's credential", async () => {
    const { exchange } = await send({}, { connection: secure(leaf), subjectNames: [mapped("m-1", byName, null)] });
    assert.equal(exchange.credential?.id, "m-1");
  });

  const subject = "C=CA+L=Tor\\,onto,O=Kong,CN=Users,CN=Zoë\\+1";
  const described: readonly (readonly [
    config: object,
    Partial<CertificateOptions>,
    headers: object,
    groups: unknown,
  ])[] = [
    [
      { skip_consumer_lookup: true },
      { subject },
      {
        "x-client-cert-dn": "CN=Zo\u00c3\u00ab\\+1,CN=Users,O=Kong,C=CA+L=Tor\\,onto",
        "x-client-cert-san": "Zo\u00c3\u00ab+1",
      },
      ["Zoë+1"],
    ],
    [
      { skip_consumer_lookup: true, authenticated_group_by: "DN" },
      {
        names: [
          { type: "dns", value: "a.example" },
          { type: "email", value: "a@b" },
          { type: "url", value: "spiffe://a/b,c" },
          { type: "ip", value: "192.0.2.1" },
          { type: "ip", value: "2001:db8::1" },
        ],
      },
      {
        "x-client-cert-dn": "CN=ann",
        "x-client-cert-san": "a.example, a@b, spiffe://a/b%2Cc, 192.0.2.1, 2001:db8::1",
      },
      ["CN=ann"],
    ],
    [
      { skip_consumer_lookup: true, authenticated_group_by: "DN" },
      { subject: "", names: [{ type: "url", value: "spiffe://a/b" }] },
      { "x-client-cert-san": "spiffe://a/b" },
      [],
    ],
    [
      { skip_consumer_lookup: true },
      { subject: "", names: [{ type: "dns", value: "a" }] },
      { "x-client-cert-san": "a" },
      [],
    ],
    [{ skip_consumer_lookup: true }, { subject: "O=Kong" }, { "x-client-cert-dn": "O=Kong" }, []],
    [
      { default_consumer: "guest" },
      { subject: "CN=stranger" },
      {
        "x-client-cert-dn": "CN=stranger",
        "x-client-cert-san": "stranger",
        "x-consumer-id": "c-guest",
        "x-consumer-username": "guest",
        "x-consumer-custom-id": "guest-id",
      },
      null,
    ],
  ];
  for (const [config, options, headers, groups] of described) {
    it(`sets headers and groups from the names of the certificate: ${JSON.stringify({ ...config, ...options })}`, async () => {
      const { exchange, answer } = await send(config, { connection: secure(await leafOf(options)) });
      assert.equal(answer, undefined);
      const { "x-credential-identifier": _, ...sent } = exchange.upstreamHeaders.all();
      assert.deepEqual(sent, headers);
      assert.deepEqual(exchange.authenticatedGroups, groups);
    });
  }

  describe("on an open connection", () => {
    const statusOf = async (phases: ReturnType<typeof instance>, options: FakeExchangeOptions) =>
      (await phases.access?.(fakeExchange({ caCertificates, consumers, ...options })))?.status ?? 200;

    it("refuses a certificate as soon as it has expired", async () => {
      let now = VERIFICATION_TIME;
      const phases = instance({ cache_ttl: 86_400 }, () => now);
      const connection = secure(await leafOf({ validTo: VERIFICATION_TIME + 60_000 }));
      assert.equal(await statusOf(phases, { connection }), 200);
      now += 61_000;
      assert.equal(await statusOf(phases, { connection }), 401);
    });

    it("refuses a certificate that is not valid yet, and admits it after cache_ttl if it is valid then", async () => {
      let now = VERIFICATION_TIME;
      const phases = instance({ cache_ttl: 10 }, () => now);
      const connection = secure(await leafOf({ validFrom: VERIFICATION_TIME + 5000 }));
      const statuses = [];
      for (const time of [VERIFICATION_TIME, VERIFICATION_TIME + 9000, VERIFICATION_TIME + 10_000]) {
        now = time;
        statuses.push(await statusOf(phases, { connection }));
      }
      assert.deepEqual(statuses, [401, 401, 200]);
    });

    it("verifies again when a CA certificate is removed, added or replaced", async () => {
      const phases = instance();
      const connection = secure(leaf);
      const replaced = [{ id: rootId, cert: other.pem }];
      const statuses = [];
      for (const current of [caCertificates, [], caCertificates, replaced]) {
        statuses.push(await statusOf(phases, { connection, caCertificates: current }));
      }
      assert.deepEqual(statuses, [200, 401, 200, 401]);
    });

    it("looks for the consumer at each request: a removed consumer is refused", async () => {
      const phases = instance();
      const connection = secure(leaf);
      assert.equal(await statusOf(phases, { connection }), 200);
      assert.equal(await statusOf(phases, { connection, consumers: [guest] }), 401);
    });
  });

  it("lists the names of its CA certificates in handshakes only with send_ca_dn", () => {
    const namesOf = (config: object) =>
      mtlsAuthFacts.certificateAuthorities?.(withConfigDefaults("mtls-auth", { ca_certificates: [rootId], ...config }));
    assert.deepEqual([namesOf({}), namesOf({ send_ca_dn: true })], [[], [rootId]]);
  });
});

describe("the config of mtls-auth", () => {
  const noRevocation = "Sluice does not check revocation: set SKIP, and issue certificates with short lifetimes";
  const table: readonly (readonly [config: object, violations: readonly string[]])[] = [
    [{ ca_certificates: [rootId] }, []],
    [{ ca_certificates: [rootId], revocation_check_mode: "SKIP", cert_cache_ttl: 1, http_timeout: 1 }, []],
    [{ ca_certificates: [rootId], revocation_check_mode: "STRICT" }, [`revocation_check_mode: ${noRevocation}`]],
    [
      { ca_certificates: [rootId], revocation_check_mode: "IGNORE_CA_ERROR" },
      [`revocation_check_mode: ${noRevocation}`],
    ],
    [{}, ["ca_certificates: required field missing"]],
    [{ trusted_certificates: "text" }, ["trusted_certificates: expected certificates in PEM"]],
    [{ trusted_certificates: `${root.pem}\n# two\n${other.pem}` }, []],
    [
      { ca_certificates: [rootId], verify_client: "optional", pass_certificate: true, subject_pattern: "CN=a" },
      ["verify_client", "subject_pattern", "pass_certificate"].map((name) => `${name}: needs response_style: nginx`),
    ],
    [
      { ca_certificates: [rootId], response_style: "nginx", anonymous: "guest" },
      ["anonymous: has no meaning with response_style: nginx, which finds no consumer: remove it"],
    ],
    [
      { ca_certificates: [rootId], response_style: "nginx", error_page: "javascript:alert(1)" },
      ["error_page: expected a URL with http or https"],
    ],
  ];
  for (const [config, violations] of table) {
    it(`${violations.length === 0 ? "is valid" : `is refused with '${violations}'`}: ${JSON.stringify(config)}`, () => {
      assert.deepEqual(
        configViolations("mtls-auth", config).map((line) => line.replace(/^config\./, "")),
        violations,
      );
    });
  }
});
