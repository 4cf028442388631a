import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Certificate } from "@sluice/model";
import { makeAuthority, type TestAuthority } from "../../../../tools/programs/certificates.ts";
import type { ListOptions, Store } from "../../stores/store.ts";
import { authorityDetailsBody, certificateDetailsBody, createCertificateWarnings } from "./certificate-warnings.ts";

const NOW = Date.UTC(2026, 0, 1);
const at = (days: number) => new Date(NOW + days * 86_400_000);
let authority: TestAuthority;
before(async () => {
  authority = await makeAuthority();
});

const rows: readonly (readonly [
  what: string,
  days: number,
  sans: readonly string[],
  snis: readonly string[],
  warnings: readonly string[],
])[] = [
  ["a valid one has none", 15, ["a.example", "*.b.example"], ["a.example", "c.b.example", "*.b.example"], []],
  [
    "one that expires within 14 days",
    13,
    ["*.example"],
    ["b.example", "a.example"],
    ["certificate CN=subject (SNI a.example, b.example): expires at 2026-01-14T00:00:00.000Z"],
  ],
  [
    "an expired one",
    -1,
    ["a.example"],
    ["a.example"],
    ["certificate CN=subject (SNI a.example): expired at 2025-12-31T00:00:00.000Z"],
  ],
  ["an expired one that no SNI refers to has none", -1, ["a.example"], [], []],
  [
    "one that does not cover its server name",
    15,
    ["portal.example", "*.example"],
    ["portal.example", "checkout.example.org", "a.b.example"],
    [
      "certificate of SNI checkout.example.org: does not cover checkout.example.org (it covers portal.example, *.example)",
      "certificate of SNI a.b.example: does not cover a.b.example (it covers portal.example, *.example)",
    ],
  ],
];
for (const [what, days, sans, names, expected] of rows)
  test(`warnings about certificates: ${what}`, async () => {
    const pair = await authority.issue({
      name: "subject",
      sans,
      usage: "server",
      notBefore: at(-30),
      notAfter: at(days),
    });
    const certificate = { id: "c", cert: pair.certificate, cert_alt: null };
    const lists: Readonly<Record<string, readonly object[]>> = {
      certificates: [certificate],
      snis: names.map((name) => ({ id: name, name, certificate })),
    };
    const list = async (collection: string) => ({ entities: lists[collection] ?? [], more: false });
    const read = createCertificateWarnings({ list } as unknown as Store, () => NOW);
    for (const _ of ["computed", "known"]) {
      const warnings = await read();
      assert.deepEqual(
        warnings.map(({ subject, message }) => `${subject}: ${message}`),
        expected,
      );
    }
  });

for (const days of [15, 13]) {
  const isSoon = days < 14;
  test(`a CA certificate that expires in ${days} days has ${isSoon ? "a" : "no"} warning`, async () => {
    const start = Date.now();
    const notAfter = new Date(Math.ceil(start / 1000) * 1000 + days * 86_400_000);
    const { certificate: cert } = await makeAuthority("root", { notAfter });
    const authority = { id: "a", cert, cert_digest: "", tags: null, created_at: 0, updated_at: 0 };
    const list = async (collection: string) => ({
      entities: collection === "ca_certificates" ? [authority] : [],
      more: false,
    });
    const later = start + 60_000;
    const found = await createCertificateWarnings({ list } as unknown as Store, () => later)();
    const message = `expires at ${notAfter.toISOString()}`;
    assert.deepEqual(
      found.map(({ subject, message: fault, entity }) => [subject, fault, entity]),
      isSoon ? [["CA certificate CN=root", message, { collection: "ca_certificates", id: "a" }]] : [],
    );
    const { data, faults } = authorityDetailsBody(authority, later);
    assert.deepEqual([data.map(({ subject }) => subject), faults], [["CN=root"], isSoon ? [message] : []]);
  });
}

test("the details of a certificate have the faults of the SNIs that refer to it", async () => {
  const validity = { notBefore: at(-30), notAfter: at(60) };
  const own = await authority.issue({ name: "subject", sans: ["a.example"], usage: "server", ...validity });
  const certificate = { id: "c", cert: own.certificate, cert_alt: null };
  const snis = [
    { id: "1", name: "b.example", certificate: { id: "c" } },
    { id: "2", name: "c.example", certificate: { id: "other" } },
  ];
  const list = async (_: string, { where }: ListOptions) => ({
    entities: snis.filter((sni) => where === undefined || sni.certificate.id === where.id),
    more: false,
  });
  const body = await certificateDetailsBody(certificate as Certificate, { list } as unknown as Store, NOW);
  assert.deepEqual(
    [body.data.map(({ subject }) => subject), body.faults],
    [["CN=subject"], ["does not cover b.example (it covers a.example)"]],
  );
});

for (const [names, domains, subject] of [
  [["b.example", "a.example"], ["c.example"], "certificate with acme (SNI a.example, b.example)"],
  [[], ["c.example"], "certificate with acme for c.example"],
  [[], [], "certificate with acme for no name"],
] as const)
  test(`a failed order of a certificate is a warning about the ${subject}`, async () => {
    const certificate = { id: "c", cert: null, cert_alt: null };
    const lists: Readonly<Record<string, readonly object[]>> = {
      certificates: [certificate],
      snis: names.map((name) => ({ id: name, name, certificate })),
    };
    const store = {
      list: async (collection: string) => ({ entities: lists[collection] ?? [], more: false }),
      certificateOrders: async () => new Map([["c", { domains, next_attempt: null, error: { detail: "refused" } }]]),
    };
    const warnings = await createCertificateWarnings(store as unknown as Store)();
    assert.deepEqual(
      warnings.map((warning) => `${warning.subject}: ${warning.message}`),
      [`${subject}: could not be ordered: refused`],
    );
  });

test("the remedy of a certificate that cannot be ordered names no step that would not help", async () => {
  const error = { type: null, detail: "set SLUICE_ACME_DIR" };
  const remedies = ["refused", "waiting"].map(async (state) => {
    const store = {
      list: async (collection: string) => ({
        entities: collection === "certificates" ? [{ id: "c", cert: null, cert_alt: null }] : [],
        more: false,
      }),
      certificateOrders: async () => new Map([["c", { state, domains: [], next_attempt: null, error }]]),
    };
    return (await createCertificateWarnings(store as unknown as Store)()).map(({ remedy }) => remedy);
  });
  assert.deepEqual(await Promise.all(remedies), [
    ["Change what the message names; until then, the certificate is not ordered."],
    ["Let the names lead to the gateway, or correct acme; Sluice then tries again."],
  ]);
});
