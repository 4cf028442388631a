/** The canonical form of IP addresses, and sets of addresses and CIDR blocks. */
import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from "node:net";

/** An address with an optional prefix length. */
const ADDRESS_OR_BLOCK = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i;

/**
 * A set of addresses and CIDR blocks. Throws on an invalid entry; entries from settings were validated when the process
 * started.
 */
export function addressSet(entries: readonly string[]): BlockList {
  const set = new BlockList();
  for (const entry of entries) {
    const [, address = "", bits] = ADDRESS_OR_BLOCK.exec(entry) ?? [];
    const version = isIP(address);
    const prefix = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits);
    if (version === 0 || prefix > (version === 4 ? 32 : 128)) {
      throw new Error(`${entry} is neither an address nor a CIDR block`);
    }
    set.addSubnet(address, prefix, family(version));
  }
  return set;
}

const family = (version: number): "ipv4" | "ipv6" => (version === 4 ? "ipv4" : "ipv6");

export const isInAddressSet = (set: BlockList, address: string): boolean => {
  const version = isIP(address);
  return version !== 0 && set.check(address, family(version));
};

const MAPPED = "::ffff:";

/**
 * The canonical spelling of an address (RFC 5952), without a zone. An IPv4-mapped address (RFC 4291 section 2.5.5.2),
 * as dual-stack sockets report it, becomes the IPv4 address. Other text stays unchanged.
 */
export function canonicalAddress(address: string): string {
  // The common case: an IPv4 address, plain or mapped.
  if (!address.includes(":")) return address;
  const mapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : "";
  if (isIPv4(mapped)) return mapped;
  if (!isIPv6(address)) return address;
  const [plain = ""] = address.split("%", 1);
  const canonical = new SocketAddress({ address: plain, family: "ipv6" }).address;
  return canonical === address ? address : canonicalAddress(canonical);
}
