import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { createServer } from "node:tls";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import { caCertificateOf, serviceNamed } from "../../compile/testing-entities.ts";
import { createUpstream } from "../../compile/upstream.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { dialTarget, TlsSessionCache } from "./dial.ts";

const root = await makeAuthority("root");
const outer = await root.delegate("outer");
const inner = await outer.delegate("inner");
const leaf = { name: "up", sans: ["127.0.0.1"], usage: "server" } as const;
const chains = {
  none: [await root.issue(leaf)],
  two: [await inner.issue(leaf), inner, outer],
};

/** The number of intermediate CAs in the server's chain, the members of the service, and the outcome of the dial. */
const table: readonly (readonly [intermediates: keyof typeof chains, members: object, outcome: string])[] = [
  ["none", { tls_verify_depth: 0 }, "connected"],
  ["two", { tls_verify_depth: 1 }, "the upstream's certificate chain is longer than tls_verify_depth"],
  ["two", { tls_verify_depth: 2 }, "connected"],
  ["two", {}, "connected"],
  ["two", { tls_verify_depth: 0, tls_verify: false }, "connected"],
];

function open(target: UpstreamTarget, sessions: TlsSessionCache): Promise<string> {
  const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
  const options = { connect: connectBehind(guard, [root.certificate]), protocol: "http/1.1", sessions } as const;
  return new Promise((resolve) => {
    const connected = (socket: { destroy(): void }) => {
      socket.destroy();
      resolve("connected");
    };
    dialTarget(target, { connected, failed: (error) => resolve(error.message) }, options);
  });
}

/** The port of a server that sends this chain, whose first certificate is the server's own. */
async function serve(context: TestContext, chain: (typeof chains)["two"] | (typeof chains)["none"]): Promise<number> {
  const [own] = chain;
  const server = createServer({
    cert: chain.map(({ certificate }) => certificate).join("\n"),
    key: own && "key" in own ? own.key : "",
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function targetAt(port: number, members: object, authorities: readonly string[] | null = null): UpstreamTarget {
  const service = serviceNamed("up", { protocol: "https", host: "127.0.0.1", port, ...members });
  const cas = authorities?.map((cert) => caCertificateOf(cert)) ?? null;
  const parts = { service, endpoints: null, balancer: null, certificate: null, authorities: cas };
  const [target] = createUpstream(parts, null).targets;
  assert.ok(target);
  return target;
}

for (const [intermediates, members, outcome] of table) {
  const result = outcome === "connected" ? "connects" : "fails";
  test(`a dial to a server (intermediate CAs: ${intermediates}) of a service with the members ${JSON.stringify(members)} ${result}`, async (context) => {
    const target = targetAt(await serve(context, chains[intermediates]), members);
    const sessions = new TlsSessionCache();
    assert.equal(await open(target, sessions), outcome);
    if (outcome !== "connected") assert.equal(sessions.get(target.key), undefined);
  });
}

const other = await makeAuthority("other");
const expired = await makeAuthority("expired", { notAfter: new Date(Date.now() - 1000) });

/** The server's chain, the CA certificates and other members of the service, and the outcome of the dial. */
const trust: readonly (readonly [
  name: string,
  chain: (typeof chains)["two"] | (typeof chains)["none"],
  authorities: readonly string[],
  members: object,
  outcome: RegExp,
])[] = [
  ["the server's CA", chains.none, [root.certificate], {}, /^connected$/],
  ["several CAs, one of them the server's,", chains.none, [other.certificate, root.certificate], {}, /^connected$/],
  ["another CA, although the machine trusts the server's,", chains.none, [other.certificate], {}, /unable to verify/],
  ["ids of CA certificates that do not exist", chains.none, [], {}, /unable to verify/],
  [
    "an expired CA",
    [await expired.issue(leaf)],
    [expired.certificate],
    {},
    /certificate has expired: a CA certificate of the upstream's chain has expired; the server's certificate, subject up, is valid/,
  ],
  [
    "an expired certificate of the server",
    [await root.issue({ ...leaf, notBefore: new Date(0), notAfter: new Date(86_400_000) })],
    [root.certificate],
    {},
    /certificate has expired: the server's certificate, subject up, is valid from Jan {2}1 00:00:00 1970 GMT to Jan {2}2 00/,
  ],
  [
    "the server's CA and a depth that is too small",
    chains.two,
    [root.certificate],
    { tls_verify_depth: 1 },
    /too long|longer/,
  ],
  ["the server's CA and a sufficient depth", chains.two, [root.certificate], { tls_verify_depth: 2 }, /^connected$/],
  ["another CA and no verification", chains.none, [other.certificate], { tls_verify: false }, /^connected$/],
];

for (const [name, chain, authorities, members, outcome] of trust) {
  test(`a dial for a service with ${name} ends with ${outcome.source}`, async (context) => {
    const target = targetAt(await serve(context, chain), members, authorities);
    assert.match(await open(target, new TlsSessionCache()), outcome);
  });
}

test("a session is not resumed for a target with other CA certificates", async (context) => {
  const port = await serve(context, chains.none);
  const sessions = new TlsSessionCache();
  const [before, after] = [targetAt(port, {}, [root.certificate]), targetAt(port, {}, [other.certificate])];
  assert.equal(await open(before, sessions), "connected");
  assert.notEqual(before.key, after.key);
  assert.match(await open(after, sessions), /unable to verify/);
});
