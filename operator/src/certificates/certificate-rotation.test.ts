import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { before, describe, test } from "node:test";
import {
  type CertificatePlan,
  type CertificateSet,
  hasUsableAuthority,
  isValidPair,
  pemBlocksOf,
  renewCertificates,
} from "./certificate-rotation.ts";

const begin = new Date("2026-01-01T00:00:00Z");
const DAY = 24 * 60 * 60 * 1000;
const MINUTE = 60_000;
const after = (days: number, minutes = 0): Date => new Date(begin.getTime() + days * DAY + minutes * MINUTE);

type Name = "server" | "client";
type Set = CertificateSet<Name>;
const plan: CertificatePlan<Name> = {
  authority: "test authority",
  certificates: {
    server: { names: ["sluice-webhook.sluice.svc"], usage: "server" },
    client: { names: ["sluice-operator"], usage: "client" },
  },
  overlap: 10 * MINUTE,
};
const at = (stored: Set | null, now: Date) => renewCertificates(stored, plan, { now });

const authoritiesOf = ({ authorities }: Set) =>
  pemBlocksOf(authorities, "CERTIFICATE").map((pem) => new X509Certificate(pem));
const certificateOf = ({ certificates }: Set, name: Name = "server") =>
  new X509Certificate(certificates[name].certificate);
const trusts = (those: Set, shown: Set): boolean =>
  Object.values(shown.certificates).every((pair) => isValidPair(pair, those.authorities));

describe("a certificate of the operator's own authority", () => {
  let first: Set;
  before(async () => {
    first = await at(null, begin);
  });

  test("has the given names and usage, is signed by its authority, and comes with its key", () => {
    const [server, client, [authority]] = [
      certificateOf(first),
      certificateOf(first, "client"),
      authoritiesOf(first),
    ] as const;
    assert.equal(server.checkHost("sluice-webhook.sluice.svc"), "sluice-webhook.sluice.svc");
    assert.equal(server.checkHost("other.sluice.svc"), undefined);
    assert.equal(client.subjectAltName, "DNS:sluice-operator");
    assert.deepEqual([server.keyUsage, client.keyUsage], [["1.3.6.1.5.5.7.3.1"], ["1.3.6.1.5.5.7.3.2"]]);
    assert.deepEqual([server.ca, authority?.ca], [false, true]);
    assert.ok(authority && server.checkIssued(authority) && trusts(first, first));
    assert.ok(server.checkPrivateKey(createPrivateKey(first.certificates.server.key)));
  });

  test("lists IP addresses as IP addresses and not as DNS names", async () => {
    const certificates = { server: { names: ["127.0.0.1", "::1"], usage: "server" } } as const;
    const { certificates: made } = await renewCertificates(null, { ...plan, certificates }, { now: begin });
    const certificate = new X509Certificate(made.server.certificate);
    assert.deepEqual([certificate.checkIP("127.0.0.1"), certificate.checkIP("::1")], ["127.0.0.1", "::1"]);
  });

  test("is unchanged for two thirds of its lifetime", async () => {
    assert.equal(await at(first, begin), first);
    assert.equal(await at(first, after(59)), first);
  });

  test("is renewed in its last third by the same authority", async () => {
    const next = await at(first, after(61));
    assert.equal(next.authorities, first.authorities);
    for (const name of ["server", "client"] as const)
      assert.notEqual(next.certificates[name].certificate, first.certificates[name].certificate);
    assert.ok(trusts(first, next));
  });

  test("is renewed when the plan gives it another name; other certificates are not renewed", async () => {
    const certificates = { ...plan.certificates, server: { names: ["localhost"], usage: "server" } } as const;
    const next = await renewCertificates(first, { ...plan, certificates }, { now: begin });
    assert.deepEqual([next.authorities, next.certificates.client], [first.authorities, first.certificates.client]);
    assert.equal(certificateOf(next).checkHost("localhost"), "localhost");
  });

  test("is renewed when the plan gives it another usage, and may then be used in both roles", async () => {
    const certificates = { ...plan.certificates, server: { ...plan.certificates.server, usage: "peer" } } as const;
    const next = await renewCertificates(first, { ...plan, certificates }, { now: begin });
    assert.deepEqual([next.authorities, next.certificates.client], [first.authorities, first.certificates.client]);
    assert.deepEqual(certificateOf(next).keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
    assert.equal(await renewCertificates(next, { ...plan, certificates }, { now: begin }), next);
  });

  test("is still trusted if the renewal runs with a clock a day before the time of issue", async () => {
    assert.ok(trusts(await at(first, after(-1)), first));
  });
});

/** After each step: the numbers of trusted authorities and of stored authority keys; whether certificates are new. */
const turnover: readonly (readonly [when: string, now: Date, trusted: number, keys: number, signedAnew: boolean])[] = [
  ["in the last third of the old authority's lifetime, the new authority is only trusted", after(500), 2, 2, false],
  ["the new authority does not sign before all participants trust it", after(500, 9), 2, 2, false],
  ["once all participants trust the new authority, it signs; the old one is still trusted", after(500, 11), 2, 1, true],
  [
    "the old authority is trusted until every participant has a certificate of the new authority",
    after(500, 20),
    2,
    1,
    false,
  ],
  ["once every participant has a new certificate, the old authority is dropped", after(500, 22), 1, 1, false],
];

test("during a rotation no participant is presented with a certificate of an unknown authority", async () => {
  // The certificates have just been renewed, so that only the authority is due on day 500.
  let last = await at(await at(null, begin), after(480));
  for (const [when, now, trusted, keys, signedAnew] of turnover) {
    const next = await at(last, now);
    assert.equal(authoritiesOf(next).length, trusted, when);
    assert.equal(certificateOf(next).raw.equals(certificateOf(last).raw), !signedAnew, when);
    assert.ok(trusts(next, next) && trusts(last, next) && trusts(next, last), when);
    assert.equal(pemBlocksOf(next.authorityKeys, "PRIVATE KEY").length, keys, when);
    last = next;
  }
});

test("a rotation that resumes ten days late still advances one step at a time", async () => {
  const first = await at(null, begin);
  const announced = await at(first, after(500));
  const woken = await at(announced, after(510));
  assert.equal(authoritiesOf(woken).length, 2, "certificates of the old authority are still in use");
  assert.ok(trusts(woken, announced) && trusts(announced, woken));
});

test("an authority is replaced on demand in the same steps as at the end of its lifetime", async () => {
  const first = await at(null, begin);
  const next = await renewCertificates(first, plan, { now: after(1), replace: true });
  assert.equal(authoritiesOf(next).length, 2);
  assert.deepEqual(next.certificates, first.certificates);
  const last = await at(next, after(1, 11));
  assert.ok(trusts(last, first) && !trusts(first, last));
});

test("an expired authority is not trusted", async () => {
  const first = await at(null, begin);
  const later = await at(first, after(800));
  assert.equal(authoritiesOf(later).length, 1);
  assert.ok(trusts(later, later) && !trusts(later, first));
});

const broken: readonly (readonly [what: string, (good: Set) => Set])[] = [
  ["with truncated authorities", (good) => ({ ...good, authorities: good.authorities.slice(0, 80) })],
  [
    "with a key that does not match the authority",
    (good) => ({ ...good, authorityKeys: good.certificates.server.key }),
  ],
  ["with a garbled authority", (good) => ({ ...good, authorities: good.authorities.replace(/\n.{20}/, "\nAAAA") })],
  [
    "without content",
    () => {
      const nothing = { certificate: "", key: "" };
      return { authorities: "", authorityKeys: "", certificates: { server: nothing, client: nothing } };
    },
  ],
];
for (const [what, breaking] of broken)
  test(`a certificate set ${what} is replaced completely`, async () => {
    const found = breaking(await at(null, begin));
    assert.equal(hasUsableAuthority(found, begin), false);
    const next = await at(found, begin);
    assert.ok(trusts(next, next) && hasUsableAuthority(next, begin));
    assert.notEqual(next.authorityKeys, found.authorityKeys);
  });

test("a certificate that does not match its key is renewed by the same authority", async () => {
  const good = await at(null, begin);
  const { server, client } = good.certificates;
  const mixed = { ...good, certificates: { server: { ...server, key: client.key }, client } };
  assert.equal(isValidPair(mixed.certificates.server, good.authorities), false);
  const next = await at(mixed, begin);
  assert.deepEqual([next.authorities, next.certificates.client], [good.authorities, client]);
  assert.ok(trusts(good, next));
});
