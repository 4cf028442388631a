/**
 * Address ranges that configured connections must not reach, such as this machine, link-local and multicast addresses,
 * and the metadata services of clouds. An IPv6 address that embeds an address of these ranges is in them, too.
 */
import { type BlockList, isIP } from "node:net";
import { addressSet, canonicalAddress, isInAddressSet } from "./address-set.ts";

interface Range {
  readonly what: string;
  readonly addresses: BlockList;
}

/** In order of precedence: an address is named after the first range that contains it. */
const ranges: readonly Range[] = (
  [
    ["a loopback address", ["127.0.0.0/8", "::1"]],
    // Linux treats 0.0.0.0 and :: as this machine.
    ["an unspecified address", ["0.0.0.0/8", "::"]],
    ["a link-local address", ["169.254.0.0/16", "fe80::/10"]],
    [
      "an address of a cloud's metadata service",
      // Alibaba Cloud, Azure, Oracle Cloud (two), AWS and Google Cloud. Most clouds also use a link-local IPv4 address.
      ["100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:c1::a9fe:a9fe", "fd00:ec2::254", "fd20:ce::254"],
    ],
    ["a multicast address", ["224.0.0.0/4", "ff00::/8"]],
    ["the broadcast address", ["255.255.255.255"]],
    ["an IPv4-compatible IPv6 address", ["::/96"]],
    // RFC 8215: only the local network knows where an address contains the IPv4 address, so the whole prefix is
    // refused.
    ["an address of a local NAT64 prefix", ["64:ff9b:1::/48"]],
  ] as const
).map(([what, addresses]) => ({ what, addresses: addressSet(addresses) }));

/** Names the range because of which the address must not be reached; null: it may be reached. */
export function refusedRange(address: string): string | null {
  const canonical = canonicalAddress(address);
  const direct = rangeOf(canonical);
  if (direct !== null) return direct;
  for (const embedded of embeddedAddresses(canonical)) {
    const what = rangeOf(embedded);
    if (what !== null) return `${what} in IPv6 form`;
  }
  return null;
}

const rangeOf = (address: string): string | null =>
  ranges.find(({ addresses }) => isInAddressSet(addresses, address))?.what ?? null;

/** IPv4 addresses that routers or the kernel extract from an IPv6 address. */
export function embeddedAddresses(address: string): readonly string[] {
  const [plain = ""] = address.split("%");
  if (isIP(plain) !== 6) return [];
  const groups = groupsOf(plain);
  const found: string[] = [];
  // IPv4-translated addresses (RFC 7915), and NAT64 (RFC 6052).
  if (startsWith(groups, [0, 0, 0, 0, 0xffff, 0]) || startsWith(groups, [0x64, 0xff9b, 0, 0, 0, 0])) {
    found.push(ipv4(groups, 6));
  }
  // 6to4 (RFC 3056).
  if (startsWith(groups, [0x2002])) found.push(ipv4(groups, 1));
  // Teredo (RFC 4380): the server's address, and the client's with all bits inverted.
  if (startsWith(groups, [0x2001, 0])) {
    const turned = groups.map((group) => group ^ 0xffff);
    found.push(ipv4(groups, 2), ipv4(turned, 6));
  }
  // ISATAP (RFC 5214), under any prefix; bit 0x0200 marks the address as globally unique.
  if (((groups[4] ?? 0) & 0xfdff) === 0 && groups[5] === 0x5efe) found.push(ipv4(groups, 6));
  return found;
}

const startsWith = (groups: readonly number[], prefix: readonly number[]): boolean =>
  prefix.every((group, at) => groups[at] === group);

function ipv4(groups: readonly number[], at: number): string {
  const [high = 0, low = 0] = groups.slice(at);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight groups of an IPv6 address, which `isIP` has accepted. */
function groupsOf(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const pair = (high: string, low: string) => ((Number(high) << 8) | Number(low)).toString(16);
  const [, before = "", a = "", b = "", c = "", d = ""] = dotted ?? [];
  const text = dotted === null ? address : `${before}${pair(a, b)}:${pair(c, d)}`;
  const [head = "", tail] = text.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = new Array<string>(8 - first.length - last.length).fill("0");
  return [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
}
