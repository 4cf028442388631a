import assert from "node:assert/strict";
import { test } from "node:test";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { certificateNamed, snapshotOfEntities } from "../compile/testing-entities.ts";
import { CertificateExpiries } from "./certificate-expiries.ts";

const at = (seconds: number) => new Date(seconds * 1000);

async function snapshotWith(...names: readonly (readonly [serverName: string, expires: number])[]) {
  const authority = await makeAuthority();
  const pairs = [];
  for (const [name, expires] of names) {
    const options = { name, sans: [name], usage: "server" as const, notBefore: at(0), notAfter: at(expires) };
    pairs.push(certificateNamed(name, await authority.issue(options)));
  }
  return snapshotOfEntities({
    certificates: pairs.map(({ certificate }) => certificate),
    snis: pairs.map(({ sni }) => sni),
  });
}

const samplesOf = (expiries: CertificateExpiries) =>
  [...expiries.served()].map(({ serverName, expires }) => `${serverName} ${expires}`).sort();

test("expiries are reported for each certificate that is served now, and for no other certificate", async () => {
  const expiries = new CertificateExpiries();
  const many = Array.from({ length: 25 }, (_, n) => [`n${n}.test`, 2_000_000_000 + n] as const);
  expiries.reportSnapshot(await snapshotWith(...many));
  assert.deepEqual(samplesOf(expiries), [], "nothing is parsed while a document is applied");
  await expiries.read();
  assert.deepEqual(samplesOf(expiries), many.map(([name, expires]) => `${name} ${expires}`).sort());
  expiries.reportSnapshot(await snapshotWith(["n0.test", 2_100_000_000], ["other.test", 1_000_000]));
  await expiries.read();
  assert.deepEqual(samplesOf(expiries), ["n0.test 2100000000", "other.test 1000000"]);
  expiries.reportSnapshot(snapshotOfEntities({}));
  await expiries.read();
  assert.deepEqual(samplesOf(expiries), []);
});

test("the expiry of a certificate is reported for the hostnames of the listeners that present it", async () => {
  const { certificates } = await snapshotWith(["a.test", 2_000_000_000]);
  const listeners = [
    { name: "team/web/https", port: 9001, public_port: 443, protocol: "https", hostname: "a.test" },
    { name: "team/web/other-port", port: 9002, public_port: 8443, protocol: "https", hostname: "a.test" },
    { name: "team/web/all", port: 9003, public_port: 444, protocol: "https" },
  ] as const;
  const expiries = new CertificateExpiries();
  const names = [...listeners.map(({ name }) => name), "team/web/gone"];
  const certificate = [...certificates.values()].map((one) => ({ ...one, _sluice: { listeners: names } }));
  expiries.reportSnapshot(snapshotOfEntities({ certificates: certificate, listeners }));
  await expiries.read();
  assert.deepEqual(samplesOf(expiries), ["* 2000000000", "a.test 2000000000"]);
});
