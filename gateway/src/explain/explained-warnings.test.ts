/** The warnings of an explanation. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { certificateDetails } from "@sluice/model";
import { type KeyPair, makeAuthority } from "../../../tools/programs/certificates.ts";
import { defaultProxySettings } from "../proxy/settings.ts";
import { handshakeWarnings } from "./explained-warnings.ts";
import { type ExplainRig, START, startExplainRig } from "./testing-worker.ts";

const DAY = 86_400_000;
let rig: ExplainRig;
let valid: KeyPair;
let expired: KeyPair;
let selfSigned: string;
before(async () => {
  const settings = { ...defaultProxySettings, trustedIps: ["10.0.0.0/8"], realIpHeader: "x-forwarded-for" as const };
  rig = await startExplainRig({ plan: { settings: { ...settings, version: "1.2.3" } } });
  const authority = await makeAuthority();
  const at = (days: number) => new Date(START + days * DAY);
  const sans = ["portal.example", "*.shop.example"];
  const issue = (from: number, to: number) =>
    authority.issue({ name: "portal.example", sans, usage: "server", notBefore: at(from), notAfter: at(to) });
  [valid, expired] = [await issue(-1, 60), await issue(-60, -1)];
  selfSigned = authority.certificate;
});
after(() => rig[Symbol.asyncDispose]());

const portal = "portal.example";
const route = { name: "r", paths: ["/"], service: { name: "s" } };

function serve(document: object): void {
  rig.serve({ services: [{ name: "s", host: "127.0.0.1", port: rig.upstreamPort }], routes: [route], ...document });
}

const withCertificate = ({ certificate: cert, key }: KeyPair, ...names: readonly string[]) => ({
  certificates: [{ cert, key, snis: names.map((name) => ({ name })) }],
});

describe("the warnings of an explanation, if the certificate", () => {
  const rows: readonly (readonly [
    what: string,
    host: string,
    document: () => object,
    sni: string | null,
    warnings: readonly string[],
  ])[] = [
    [
      "is missing",
      portal,
      () => ({}),
      null,
      [`a TLS handshake with the node fails: no SNI matches the server name ${portal}`],
    ],
    [
      "is missing for a client without a server name",
      "127.0.0.1",
      () => withCertificate(valid, portal),
      null,
      ["a TLS handshake with the node fails: no SNI matches a client that sends no server name"],
    ],
    [
      "does not cover the server name",
      "checkout.example",
      () => withCertificate(valid, "checkout.example"),
      "checkout.example",
      ["the certificate CN=portal.example does not cover checkout.example (it covers portal.example, *.shop.example)"],
    ],
    [
      "has expired",
      portal,
      () => withCertificate(expired, portal),
      portal,
      ["the certificate CN=portal.example expired at 2025-12-31T00:00:00.000Z"],
    ],
  ];
  for (const [what, host, document, sni, warnings] of rows)
    test(what, async () => {
      serve(document());
      const explanation = await rig.explain({ url: `https://${host}/` });
      assert.deepEqual([explanation.handshake?.sni, explanation.warnings], [sni, warnings]);
    });

  test("is valid, are empty, and the explanation has the details of the certificate without its key", async () => {
    serve(withCertificate(valid, "*.shop.example"));
    const { handshake, warnings } = await rig.explain({ url: "https://a.shop.example/" });
    assert.deepEqual(warnings, []);
    assert.deepEqual(
      { ...handshake, certificate: { ...handshake?.certificate, id: "ID" } },
      {
        server_name: "a.shop.example",
        sni: "*.shop.example",
        certificate: {
          id: "ID",
          subject: "CN=portal.example",
          issuer: "CN=sluice test authority",
          alternative_names: ["portal.example", "*.shop.example"],
          not_before: "2025-12-31T00:00:00.000Z",
          not_after: "2026-03-02T00:00:00.000Z",
        },
      },
    );
  });

  test("is self-signed, say so", () => {
    const certificate = { id: "1", ...(certificateDetails(selfSigned) ?? assert.fail()), alternative_names: [portal] };
    const now = Date.parse(certificate.not_before);
    assert.deepEqual(handshakeWarnings({ server_name: portal, sni: portal, certificate }, now).slice(-1), [
      "the certificate CN=sluice test authority is self-signed: only clients that trust this very certificate accept it",
    ]);
  });
});

test("without TLS, an explanation has no handshake", async () => {
  serve({});
  assert.equal((await rig.explain({ url: "http://portal.example/" })).handshake, null);
});

describe("a warning says that a header with the client's address is ignored", () => {
  const rows: readonly (readonly [peer: string, headers: object, client: string, warnings: readonly string[]])[] = [
    ["10.0.0.1", { "x-forwarded-for": "192.0.2.1" }, "192.0.2.1", []],
    [
      "127.0.0.1",
      { "x-forwarded-for": "192.0.2.1" },
      "127.0.0.1",
      ["X-Forwarded-For is ignored: 127.0.0.1 is not in SLUICE_TRUSTED_IPS"],
    ],
    [
      "10.0.0.1",
      { "x-real-ip": "192.0.2.1" },
      "10.0.0.1",
      ["X-Real-IP is ignored: SLUICE_REAL_IP_HEADER is x-forwarded-for"],
    ],
  ];
  for (const [peer, headers, client, expected] of rows)
    test(`${Object.keys(headers)} from ${peer}: ${expected[0] ?? "it is used"}`, async () => {
      serve({});
      const { request, warnings } = await rig.explain({ url: "http://a/", client_address: peer, headers });
      assert.deepEqual(warnings, expected);
      assert.deepEqual(
        [request?.client_address, request?.trusted_ips, request?.real_ip_header],
        [client, ["10.0.0.0/8"], "x-forwarded-for"],
      );
    });
});

describe("a warning names disabled plugins that would protect the request:", () => {
  const disabled = { name: "key-auth", enabled: false, service: { name: "s" } };
  const rows: readonly (readonly [what: string, plugins: readonly object[], warnings: readonly string[]])[] = [
    ["key-auth", [disabled], ["the plugin key-auth on service s is disabled, so it does not protect the request"]],
    ["none that is enabled for all requests", [disabled, { name: "key-auth" }], []],
    ["none that does not protect", [{ ...disabled, name: "cors" }], []],
  ];
  for (const [what, plugins, expected] of rows)
    test(what, async () => {
      serve({ plugins });
      assert.deepEqual((await rig.explain({ url: "http://a/" })).warnings, expected);
    });
});
