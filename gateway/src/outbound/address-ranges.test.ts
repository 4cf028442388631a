import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { embeddedAddresses, refusedRange } from "./address-ranges.ts";
import { canonicalAddress } from "./address-set.ts";

const refused: readonly (readonly [what: string, addresses: readonly string[]])[] = [
  ["a loopback address", ["127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1", "::0001", "::1%lo"]],
  ["an unspecified address", ["0.0.0.0", "0.0.0.1", "0.255.255.255", "::", "0::0"]],
  ["a link-local address", ["169.254.169.254", "169.254.0.0", "fe80::1", "FE80::1", "febf::1", "fe80::1%eth0"]],
  [
    "an address of a cloud's metadata service",
    ["100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "FD00:0EC2:0:0:0:0:0:254", "fd20:ce::254"],
  ],
  ["a multicast address", ["224.0.0.1", "239.255.255.255", "ff02::1", "ff02::1%2"]],
  ["the broadcast address", ["255.255.255.255"]],
  ["an IPv4-compatible IPv6 address", ["::2", "::192.0.2.1", "::c000:201"]],
  ["an address of a local NAT64 prefix", ["64:ff9b:1::c000:201", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"]],
  [
    "a loopback address in IPv6 form",
    [
      "::ffff:0:127.0.0.1",
      "64:ff9b::7f00:1",
      "64:ff9b::127.0.0.1",
      "2002:7f00:1::",
      "2002:7f00:0001:0000::abcd",
      "2001:0:7f00:1::",
      "2001:0:c000:201::80ff:fffe",
      "2001:db8::5efe:127.0.0.1",
      "2001:db8::200:5efe:7f00:1",
      "2001:db8::200:5efe:7f00:1%eth0",
    ],
  ],
  ["a link-local address in IPv6 form", ["64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2002:A9FE:A9FE::1"]],
  ["an address of a cloud's metadata service in IPv6 form", ["64:ff9b::6464:64c8", "2002:a83f:8110::"]],
  // The kernel connects to the IPv4 address that an IPv4-mapped address contains. So a mapped address counts as that
  // IPv4 address, and not as an address "in IPv6 form".
  ["a loopback address", ["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:7f00:0001", "::FFFF:127.1.2.3"]],
  ["a link-local address", ["::ffff:169.254.169.254"]],
  ["an unspecified address", ["::ffff:0.0.0.0", "::ffff:0:0"]],
];

const open = [
  ...["10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "100.100.100.201", "168.63.129.17", "128.0.0.1"],
  ...["1.0.0.0", "169.253.255.255", "169.255.0.0", "223.255.255.255", "240.0.0.1", "255.255.255.254"],
  ...["2001:db8::1", "fd00::1", "fd00:ec2::253", "fec0::1", "fe7f::1", "::1:0:0:0", "64:ff9b::c000:201"],
  ...["64:ff9b:2::7f00:1", "2002:c000:201::7f00:1", "::ffff:192.0.2.1", "2001:db8::5eff:127.0.0.1", "2003:7f00:1::"],
];

/** Spellings of the same IPv6 address. */
function spellings(groups: readonly number[]): readonly string[] {
  const hex = groups.map((group) => group.toString(16));
  const padded = hex.map((group) => group.padStart(4, "0"));
  const [high = 0, low = 0] = groups.slice(6);
  const dotted = [high >> 8, high & 255, low >> 8, low & 255].join(".");
  return [
    hex.join(":"),
    padded.join(":").toUpperCase(),
    [...hex.slice(0, 6), dotted].join(":"),
    `${hex.join(":")}%eth0`,
  ];
}

const group = fc.nat({ max: 0xffff });
const ipv4 = fc.tuple(fc.nat({ max: 255 }), fc.nat({ max: 255 }), fc.nat({ max: 255 }), fc.nat({ max: 255 }));

describe("the ranges that configured connections must not reach", () => {
  for (const [what, addresses] of refused) {
    for (const address of addresses) it(`contain ${address}, ${what}`, () => assert.equal(refusedRange(address), what));
  }
  for (const address of open) it(`do not contain ${address}`, () => assert.equal(refusedRange(address), null));

  it("contain an address in every spelling or in none", () => {
    const prefixes = fc.constantFrom([0, 0, 0, 0, 0, 0xffff], [0x64, 0xff9b, 0, 0, 0, 0], [0x2002], [0xfe80], [0], []);
    fc.assert(
      fc.property(prefixes, fc.array(group, { minLength: 8, maxLength: 8 }), (prefix, rest) => {
        const forms = spellings([...prefix, ...rest].slice(0, 8));
        assert.deepEqual(forms.map(isIP), [6, 6, 6, 6]);
        assert.equal(new Set(forms.map(refusedRange)).size, 1);
        assert.equal(new Set(forms.map(canonicalAddress)).size, 1);
      }),
    );
  });

  it("contain an IPv6 address if and only if they contain the IPv4 address that it embeds", () => {
    fc.assert(
      fc.property(ipv4, (bytes) => {
        const [a, b, c, d] = bytes;
        const address = bytes.join(".");
        const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
        assert.equal(canonicalAddress(`::ffff:${high}:${low}`), address);
        for (const form of [`64:ff9b::${high}:${low}`, `2002:${high}:${low}::1`, `2001:db8::5efe:${high}:${low}`]) {
          assert.ok(embeddedAddresses(form).includes(address), form);
          assert.equal(refusedRange(form) !== null, refusedRange(address) !== null, form);
        }
      }),
    );
  });
});
