import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createServer } from "node:tls";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { serviceNamed } from "../../compile/testing-entities.ts";
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

/** The number of intermediate CAs in the server's chain, and the members of the service. */
const table: readonly (readonly [intermediates: keyof typeof chains, members: object, outcome: string])[] = [
  ["none", { tls_verify_depth: 0 }, "connected"],
  ["two", { tls_verify_depth: 1 }, "the upstream's certificate chain is longer than tls_verify_depth"],
  ["two", { tls_verify_depth: 2 }, "connected"],
  ["two", {}, "connected"],
  ["two", { tls_verify_depth: 0, tls_verify: false }, "connected"],
];

for (const [intermediates, members, outcome] of table) {
  const result = outcome === "connected" ? "connects" : "fails";
  test(`a dial to a server with ${intermediates} intermediate CAs and the members ${JSON.stringify(members)} ${result}`, async (context) => {
    const chain = chains[intermediates];
    const [own] = chain;
    const server = createServer({
      cert: chain.map(({ certificate }) => certificate).join("\n"),
      key: own && "key" in own ? own.key : "",
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const service = serviceNamed("up", { protocol: "https", host: "127.0.0.1", port, ...members });
    const [target] = createUpstream({ service, endpoints: null, balancer: null, certificate: null }, null).targets;
    assert.ok(target);
    const guard = createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] });
    const sessions = new TlsSessionCache();
    const options = { connect: connectBehind(guard, [root.certificate]), protocol: "http/1.1", sessions } as const;
    const dial = () =>
      new Promise<string>((resolve) => {
        const connected = (socket: { destroy(): void }) => {
          socket.destroy();
          resolve("connected");
        };
        dialTarget(target, { connected, failed: (error) => resolve(error.message) }, options);
      });
    assert.equal(await dial(), outcome);
    if (outcome !== "connected") assert.equal(sessions.get(target.key), undefined);
  });
}
