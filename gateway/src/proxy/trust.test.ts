import assert from "node:assert/strict";
import { test } from "node:test";
import { addressSet, createTrust, inSet, plainAddress } from "./trust.ts";

type Header = "x-real-ip" | "x-forwarded-for";

const cases: readonly (readonly [
  says: string,
  header: Header,
  peer: string,
  value: string | undefined,
  client: string,
])[] = [
  ["the peer when it is not trusted", "x-real-ip", "9.9.9.9", "1.1.1.1", "9.9.9.9"],
  ["whom a trusted peer names", "x-real-ip", "10.0.0.1", "1.1.1.1", "1.1.1.1"],
  ["the peer when a trusted one names nobody", "x-real-ip", "10.0.0.1", undefined, "10.0.0.1"],
  ["the peer when a trusted one names nonsense", "x-real-ip", "10.0.0.1", "client", "10.0.0.1"],
  ["the last that is not trusted in a chain", "x-forwarded-for", "10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"],
  ["the first of a chain that is trusted whole", "x-forwarded-for", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["an address of IPv6", "x-real-ip", "10.0.0.1", "2001:db8::1", "2001:db8::1"],
];
for (const [says, header, peer, value, client] of cases) {
  test(`the client is ${says}`, () => {
    const trust = createTrust(["10.0.0.0/8"], header);
    assert.equal(
      trust.clientAddress(peer, (name) => (name === header ? value : undefined)),
      client,
    );
  });
}

test("IPv4 in IPv6's clothes is IPv4", () => {
  assert.equal(plainAddress("::ffff:10.0.0.1"), "10.0.0.1");
  assert.equal(plainAddress("::1"), "::1");
});

test("a set takes addresses and blocks of both families and refuses anything else", () => {
  const set = addressSet(["10.0.0.0/8", "192.168.1.1", "fd00::/8", "::1"]);
  for (const address of ["10.255.0.1", "192.168.1.1", "fd12::1", "::1"]) assert.ok(inSet(set, address), address);
  for (const address of ["11.0.0.1", "192.168.1.2", "fe80::1", "name"]) assert.ok(!inSet(set, address), address);
  for (const entry of ["name", "10.0.0.0/33", "10.0.0.0/x", ""]) assert.throws(() => addressSet([entry]), /neither/);
});
