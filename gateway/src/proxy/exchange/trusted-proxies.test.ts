import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addressSet, canonicalAddress, isInAddressSet } from "../../outbound/address-set.ts";
import { createTrustedProxies } from "./trusted-proxies.ts";

type Header = "x-real-ip" | "x-forwarded-for";

const cases: readonly (readonly [
  says: string,
  header: Header,
  peer: string,
  value: string | undefined,
  client: string,
])[] = [
  ["the peer when the peer is not trusted", "x-real-ip", "9.9.9.9", "1.1.1.1", "9.9.9.9"],
  ["the address that a trusted peer names", "x-real-ip", "10.0.0.1", "1.1.1.1", "1.1.1.1"],
  ["the peer when a trusted peer names no client", "x-real-ip", "10.0.0.1", undefined, "10.0.0.1"],
  ["the peer when a trusted peer sends an invalid address", "x-real-ip", "10.0.0.1", "client", "10.0.0.1"],
  ["the last untrusted address of a chain", "x-forwarded-for", "10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"],
  [
    "the first address of a chain in which all are trusted",
    "x-forwarded-for",
    "10.0.0.1",
    "10.0.0.3, 10.0.0.2",
    "10.0.0.3",
  ],
  ["an IPv6 address", "x-real-ip", "10.0.0.1", "2001:db8::1", "2001:db8::1"],
  [
    "an address without the port that a proxy appended",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, 80.7.7.7:1234",
    "80.7.7.7",
  ],
  ["an IPv6 address without its port", "x-forwarded-for", "10.0.0.1", "6.6.6.6, [2001:DB8::1]:443", "2001:db8::1"],
  ["an address in brackets without a port", "x-forwarded-for", "10.0.0.1", "6.6.6.6,[2001:db8:0:0::1] ", "2001:db8::1"],
  [
    "the address before the address and port of a trusted proxy",
    "x-forwarded-for",
    "10.0.0.1",
    "1.1.1.1,10.0.0.2:80\t",
    "1.1.1.1",
  ],
  [
    "the IPv4 address of an IPv4-mapped IPv6 address",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, [::ffff:102:304]:5",
    "1.2.3.4",
  ],
  [
    "the address before the IPv4-mapped form of a trusted address",
    "x-forwarded-for",
    "10.0.0.1",
    "1.1.1.1, ::FFFF:10.0.0.2",
    "1.1.1.1",
  ],
  ["the canonical form of an IPv6 address", "x-real-ip", "10.0.0.1", "2001:0DB8:0:0::0001", "2001:db8::1"],
  ["an address without its zone", "x-real-ip", "10.0.0.1", "fe80::1%eth0", "fe80::1"],
  [
    "the trusted address that follows an invalid entry",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, unknown, 10.0.0.2",
    "10.0.0.2",
  ],
  ["the peer when the last entry is empty", "x-forwarded-for", "10.0.0.1", "6.6.6.6, ", "10.0.0.1"],
  [
    "the peer when the last entry has an invalid port",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, 1.1.1.1:65536",
    "10.0.0.1",
  ],
  [
    "the peer when the last entry has an invalid address",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, 01.1.1.1",
    "10.0.0.1",
  ],
  [
    "the peer when other text follows the address of the last entry",
    "x-forwarded-for",
    "10.0.0.1",
    "6.6.6.6, 1.1.1.1 x",
    "10.0.0.1",
  ],
  ["the peer when an IPv4 address is in brackets", "x-forwarded-for", "10.0.0.1", "6.6.6.6, [1.1.1.1]:80", "10.0.0.1"],
];
for (const [says, header, peer, value, client] of cases) {
  test(`the client is ${says}`, () => {
    const trust = createTrustedProxies(["10.0.0.0/8"], header);
    assert.equal(
      trust.clientAddress(peer, (name) => (name === header ? value : undefined)),
      client,
    );
  });
}

/** Entries that trusted proxies append. The entries before them, which the client sent, must not count. */
const appended = fc.record({
  stop: fc.oneof(
    fc.ipV4().filter((address) => !address.startsWith("10.")),
    fc.ipV6(),
    fc.ipV4().map((address) => `${address}:99999`),
    fc.constantFrom("", "unknown", "_hidden", "1.2.3", "[::1", "80.7.7.7:12:34", "\u00a01.1.1.1", "10.0.0.9/8"),
  ),
  trusted: fc.array(fc.constantFrom("10.0.0.2", "10.0.0.3:80", "::ffff:10.0.0.4", "[::ffff:a00:5]:1"), {
    maxLength: 3,
  }),
});
/** Any value of X-Forwarded-For that a client may send. */
const own = fc.oneof(
  fc.string(),
  fc
    .array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("10.0.0.7", "", " ", "[::1]:2")), { maxLength: 5 })
    .map(String),
);

test("the client's own entries of X-Forwarded-For never determine the address of the client", () => {
  const trust = createTrustedProxies(["10.0.0.0/8"], "x-forwarded-for");
  const clientOf = (value: string) => trust.clientAddress("10.0.0.1", () => value);
  fc.assert(
    fc.property(own, appended, fc.constantFrom(",", ", ", " ,\t"), (client, { stop, trusted }, comma) => {
      const tail = [stop, ...trusted].join(comma);
      assert.equal(clientOf(client + comma + tail), clientOf(tail));
    }),
    { numRuns: 2000 },
  );
});

for (const [written, canonical] of [
  ["10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["::FFFF:a00:1", "10.0.0.1"],
  ["0:0:0:0:0:ffff:0a00:0001", "10.0.0.1"],
  ["::ffff:0:10.0.0.1", "::ffff:0:a00:1"],
  ["::1", "::1"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["", ""],
] as const)
  test(`the canonical form of the address "${written}" is "${canonical}"`, () =>
    assert.equal(canonicalAddress(written), canonical));

test("a set of trusted proxies accepts addresses and blocks of both families, and refuses any other text", () => {
  const set = addressSet(["10.0.0.0/8", "192.168.1.1", "fd00::/8", "::1"]);
  for (const address of ["10.255.0.1", "192.168.1.1", "fd12::1", "::1"])
    assert.ok(isInAddressSet(set, address), address);
  const mapped = addressSet(["::ffff:10.0.0.0/104", "::FFFF:192.168.1.1"]);
  for (const address of ["10.255.0.1", "192.168.1.1"]) assert.ok(isInAddressSet(mapped, address), address);
  assert.ok(!isInAddressSet(mapped, "11.0.0.1"));
  for (const address of ["11.0.0.1", "192.168.1.2", "fe80::1", "name"])
    assert.ok(!isInAddressSet(set, address), address);
  for (const entry of [
    ...["name", "10.0.0.0/33", "10.0.0.0/x", "", "10.0.0.0/", "::/", "10.0.0.0/8/8", "10.0.0.0/ 8", "10.0.0.0/0x8"],
    ...["fe80::1%eth0", "fe80::%eth0/10"],
  ])
    assert.throws(() => addressSet([entry]), /neither/);
});
