import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import type { ProbeRequest, ProbeResult } from "../../balance/active-checks.ts";
import { upstreamNamed } from "../../balance/testing.ts";
import { caCertificateOf } from "../../compile/testing-entities.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { createProbe } from "./probe.ts";

const [machine, named, other] = [
  await makeAuthority("machine"),
  await makeAuthority("named"),
  await makeAuthority("x"),
];
type Authority = typeof machine;
type Trust = Pick<ProbeRequest, "trustsMachine"> & { readonly authorities: readonly Authority[] | null };

const table: readonly (readonly [what: string, issuer: Authority, trust: Trust, result: ProbeResult])[] = [
  ["of the machine's CA without configured CAs", machine, { authorities: null, trustsMachine: true }, 200],
  ["of the machine's CA in addition to configured CAs", machine, { authorities: [named], trustsMachine: true }, 200],
  ["of a configured CA in addition to the machine's", named, { authorities: [named], trustsMachine: true }, 200],
  ["of neither a configured nor the machine's CA", other, { authorities: [named], trustsMachine: true }, "failed"],
  ["of the machine's CA if only others are trusted", machine, { authorities: [named], trustsMachine: false }, "failed"],
  ["of the machine's CA if no configured CA is left", machine, { authorities: [], trustsMachine: false }, "failed"],
];

for (const [what, issuer, { authorities, trustsMachine }, expected] of table) {
  test(`a check over https ${expected === 200 ? "accepts" : "refuses"} a certificate ${what}`, async (context) => {
    const before = getCACertificates("default");
    context.after(() => setDefaultCACertificates(before));
    setDefaultCACertificates([machine.certificate]);
    const { certificate: cert, key } = await issuer.issue({ name: "up", sans: ["localhost"], usage: "server" });
    const server = createServer({ cert, key }, (_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
    const probe = createProbe({ connect: connectBehind(guard), version: "1.2.3" });
    const request = (https_sni: string | null, serverName: string | null): ProbeRequest => ({
      host: "127.0.0.1",
      port,
      checks: upstreamNamed("pool", { healthchecks: { active: { type: "https", https_sni } } }).healthchecks.active,
      hostHeader: null,
      serverName,
      certificate: null,
      authorities: authorities?.map(({ certificate }) => caCertificateOf(certificate)) ?? null,
      trustsMachine,
    });
    const { signal } = new AbortController();
    assert.equal(await probe(request("localhost", null), signal), expected);
    assert.equal(await probe(request(null, "localhost"), signal), expected);
  });
}
