import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientConnection } from "@sluice/plugin-sdk";
import { fakeConnection, fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { mtlsAuth } from "./index.ts";
import { issueAuthority, issueTestCertificate, type SignedCertificate, VERIFICATION_TIME } from "./testing.ts";

const root = await issueAuthority("CN=root");
const leaf = await issueTestCertificate({ subject: "O=Shop,CN=machine", issuer: root });
const untrusted = await issueTestCertificate({ subject: "CN=machine" });
const expired = await issueTestCertificate({ subject: "CN=machine", issuer: root, validTo: VERIFICATION_TIME - 1000 });

const secure = (...sent: readonly SignedCertificate[]): ClientConnection =>
  fakeConnection({ scheme: "https", clientCertificates: sent.map(({ certificate }) => certificate) });
const insecure = fakeConnection({ scheme: "http" });
const unasked = fakeConnection({ scheme: "https" });

async function send(config: object, connection: ClientConnection) {
  const nginx = { response_style: "nginx", trusted_certificates: root.pem };
  const plugin = mtlsAuth.phases(
    withConfigDefaults("mtls-auth", { ...nginx, ...config }),
    fakeContext({ now: () => VERIFICATION_TIME }),
  );
  const exchange = fakeExchange({ connection });
  return { exchange, answer: await plugin.access?.(exchange) };
}

const ABSENT = "400 No required SSL certificate was sent";
const FAILED = "400 The SSL certificate error";
const UNAUTHORIZED = "403 client certificate unauthorized";
const optional = { verify_client: "optional" };
const withoutAuthority = { verify_client: "optional_no_ca" };

describe("mtls-auth with response_style: nginx", () => {
  // An outcome that begins with a status is a refusal; others are the values of Ssl-Client-Verify for the upstream.
  const table: readonly (readonly [what: string, config: object, ClientConnection, outcome: string])[] = [
    ["a valid certificate", {}, secure(leaf), "SUCCESS"],
    ["no certificate", {}, secure(), ABSENT],
    ["plain http", {}, insecure, ABSENT],
    ["a handshake that requested no certificate", {}, unasked, "421 Misdirected request"],
    ["an unknown authority", {}, secure(untrusted), FAILED],
    ["an expired certificate", {}, secure(expired), FAILED],
    ["no certificate, which is optional", optional, secure(), "NONE"],
    ["an unknown authority, with optional certificates", optional, secure(untrusted), FAILED],
    [
      "an unknown authority, which is admitted",
      withoutAuthority,
      secure(untrusted),
      "FAILED:no chain leads to a trusted CA certificate",
    ],
    ["an expired certificate, with optional_no_ca", withoutAuthority, secure(expired), FAILED],
    ["a subject that the pattern matches", { subject_pattern: "^CN=machine,O=Shop$" }, secure(leaf), "SUCCESS"],
    ["another subject", { subject_pattern: "CN=other" }, secure(leaf), UNAUTHORIZED],
    ["a subject in another case", { subject_pattern: "CN=Machine" }, secure(leaf), UNAUTHORIZED],
    ["no subject", { ...optional, subject_pattern: "CN=machine" }, secure(), UNAUTHORIZED],
    ["no subject, over plain http", { ...optional, subject_pattern: "CN=machine" }, insecure, UNAUTHORIZED],
    [
      "no certificate, with an error page",
      { error_page: "https://help.example/" },
      secure(),
      "302 https://help.example/",
    ],
  ];
  for (const [what, config, connection, outcome] of table) {
    it(`${/^\d/.test(outcome) ? `answers ${outcome}` : `sends ${outcome}`}: ${what}`, async () => {
      const { exchange, answer } = await send(config, connection);
      const refusal = answer && `${answer.status} ${answer.message ?? answer.headers?.Location}`;
      assert.equal(refusal ?? exchange.upstreamHeaders.all()["ssl-client-verify"], outcome);
    });
  }

  it("sends the names and the certificate to the upstream", async () => {
    const { exchange } = await send({ pass_certificate: true }, secure(leaf));
    const { "ssl-client-cert": sent, ...others } = exchange.upstreamHeaders.all();
    assert.deepEqual(others, {
      "ssl-client-verify": "SUCCESS",
      "ssl-client-subject-dn": "CN=machine,O=Shop",
      "ssl-client-issuer-dn": "CN=root",
    });
    assert.equal(decodeURIComponent(sent ?? ""), leaf.certificate.toString());
  });

  it("removes the headers that the client sent", async () => {
    const connection = secure();
    const exchange = fakeExchange({ connection, headers: { "ssl-client-subject-dn": "CN=machine" } });
    const config = withConfigDefaults("mtls-auth", {
      response_style: "nginx",
      trusted_certificates: root.pem,
      ...optional,
    });
    await mtlsAuth.phases(config, fakeContext({ now: () => VERIFICATION_TIME })).access?.(exchange);
    assert.deepEqual(exchange.upstreamHeaderValues("ssl-client-subject-dn"), []);
  });
});
