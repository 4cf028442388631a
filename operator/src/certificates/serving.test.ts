import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { before, describe, test } from "node:test";
import { renewed, type ServingCertificates } from "./serving.ts";

const begin = new Date("2026-01-01T00:00:00Z");
const after = (days: number): Date => new Date(begin.getTime() + days * 24 * 60 * 60 * 1000);
const names = ["sluice-webhook.sluice.svc"];

const pems = (text: string): readonly string[] => text.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
const authoritiesOf = ({ authorities }: ServingCertificates) =>
  pems(authorities).map((pem) => new X509Certificate(pem));
const servingOf = ({ serving }: ServingCertificates) => new X509Certificate(serving.certificate);

/** Whether one of the authorities has signed the certificate that is served. */
const trusts = (those: ServingCertificates, shown: ServingCertificates): boolean =>
  authoritiesOf(those).some((authority) => servingOf(shown).verify(authority.publicKey));

describe("a serving certificate", () => {
  let first: ServingCertificates;
  before(async () => {
    first = await renewed(null, { names, now: begin });
  });

  test("is for its names, signed by its authority and comes with its key", () => {
    const [serving, [authority]] = [servingOf(first), authoritiesOf(first)];
    assert.equal(serving.checkHost("sluice-webhook.sluice.svc"), "sluice-webhook.sluice.svc");
    assert.equal(serving.checkHost("other.sluice.svc"), undefined);
    assert.equal(serving.ca, false);
    assert.equal(authority?.ca, true);
    assert.ok(authority && serving.checkIssued(authority) && serving.verify(authority.publicKey));
    assert.ok(serving.checkPrivateKey(createPrivateKey(first.serving.key)));
  });

  test("names addresses as addresses", async () => {
    const { serving } = await renewed(null, { names: ["127.0.0.1", "::1"], now: begin });
    const certificate = new X509Certificate(serving.certificate);
    assert.deepEqual([certificate.checkIP("127.0.0.1"), certificate.checkIP("::1")], ["127.0.0.1", "::1"]);
  });

  test("stays as it is for two thirds of its time", async () => {
    assert.equal(await renewed(first, { names, now: begin }), first);
    assert.equal(await renewed(first, { names, now: after(59) }), first);
  });

  test("is made anew in its last third by the same authority", async () => {
    const next = await renewed(first, { names, now: after(61) });
    assert.equal(next.authorities, first.authorities);
    assert.notEqual(next.serving.certificate, first.serving.certificate);
    assert.ok(trusts(first, next));
  });

  test("is made anew when the server is called by another name", async () => {
    const next = await renewed(first, { names: [...names, "localhost"], now: begin });
    assert.equal(next.authorities, first.authorities);
    assert.equal(servingOf(next).checkHost("localhost"), "localhost");
  });

  test("gets a new authority in the old one's last third, which stays trusted until it ends", async () => {
    const next = await renewed(first, { names, now: after(500) });
    assert.equal(authoritiesOf(next).length, 2);
    assert.ok(!trusts(first, next), "the new one is signed by the old authority");
    assert.ok(trusts(next, first) && trusts(next, next));
    const later = await renewed(next, { names, now: after(740) });
    assert.equal(later.authorities, next.authorities);
    const last = await renewed(next, { names, now: after(1000) });
    assert.ok(!trusts(last, first), "an authority that has ended is still trusted");
    assert.ok(trusts(last, next));
  });

  test("is made anew when the clock stands before its time", async () => {
    assert.ok(trusts(await renewed(first, { names, now: after(-1) }), first));
  });

  for (const [what, broken] of [
    ["cut off", (good: ServingCertificates) => ({ ...good, authorities: good.authorities.slice(0, 80) })],
    ["with another's key", (good: ServingCertificates) => ({ ...good, authorityKey: good.serving.key })],
    ["empty", () => ({ authorities: "", authorityKey: "", serving: { certificate: "", key: "" } })],
  ] as const)
    test(`is made anew from what is ${what}`, async () => {
      const next = await renewed(broken(first), { names, now: begin });
      assert.ok(trusts(next, next));
      assert.equal(authoritiesOf(next).length, 1);
    });
});
