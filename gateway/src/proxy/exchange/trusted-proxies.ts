/** Addresses: which proxies are trusted, and the address of the client behind them. */
import { BlockList, isIP, isIPv4, isIPv6, type Socket, SocketAddress } from "node:net";

/** An address with an optional prefix length. */
const ADDRESS_OR_BLOCK = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i;

/** A set of addresses and CIDR blocks. Throws on invalid entries: settings are validated at start. */
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

/** The remote address of a client's connection. */
export const peerAddressOf = ({ remoteAddress }: Pick<Socket, "remoteAddress">): string =>
  canonicalAddress(remoteAddress ?? "");

const WITH_PORT = /^(?:([\d.]+)|\[([^[\]]+)\])(?::(\d{1,5}))?$/;

/** The address in an entry of X-Forwarded-For; some proxies append a port. Null: the entry has no address. */
function addressIn(entry: string): string | null {
  const text = entry.replace(/^[ \t]+|[ \t]+$/g, "");
  if (isIPv6(text)) return canonicalAddress(text);
  const [, ipv4, ipv6 = "", port] = WITH_PORT.exec(text) ?? [];
  if (port !== undefined && Number(port) > 65_535) return null;
  if (ipv4 !== undefined) return isIPv4(ipv4) ? ipv4 : null;
  return isIPv6(ipv6) ? canonicalAddress(ipv6) : null;
}

export interface TrustedProxies {
  /** @param peer In the form of `canonicalAddress` */
  isTrusted(peer: string): boolean;
  /** The client's address: the peer's, unless a trusted peer names another. */
  clientAddress(peer: string, header: (name: "x-real-ip" | "x-forwarded-for") => string | undefined): string;
}

export function createTrustedProxies(
  trustedIps: readonly string[],
  realIpHeader: "x-real-ip" | "x-forwarded-for",
): TrustedProxies {
  if (trustedIps.length === 0) return { isTrusted: () => false, clientAddress: (peer) => peer };
  const set = addressSet(trustedIps);
  const trusts = (peer: string) => isInAddressSet(set, peer);
  return {
    isTrusted: trusts,
    clientAddress(peer, header) {
      const value = header(realIpHeader);
      if (value === undefined) return peer;
      // Each proxy appends the peer that it saw, so an entry is as trustworthy as the proxy that added it. Entries
      // before an untrusted address, or before an unreadable entry, may have been written by the client.
      let client = peer;
      for (let end = value.length; end >= 0 && trusts(client); ) {
        const comma = end === 0 ? -1 : value.lastIndexOf(",", end - 1);
        const named = addressIn(value.slice(comma + 1, end));
        if (named === null) break;
        client = named;
        end = comma;
      }
      return client;
    },
  };
}
