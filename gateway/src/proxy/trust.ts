/** Addresses: which proxies in front are believed, and who the client behind them is. */
import { BlockList, isIP } from "node:net";

/** Addresses and CIDR blocks as a set. Throws on what is neither: settings are checked at start. */
export function addressSet(entries: readonly string[]): BlockList {
  const set = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const version = isIP(address);
    const prefix = bits === undefined ? (version === 4 ? 32 : 128) : Number(bits);
    if (version === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > (version === 4 ? 32 : 128)) {
      throw new Error(`${entry} is neither an address nor a CIDR block`);
    }
    set.addSubnet(address, prefix, family(version));
  }
  return set;
}

const family = (version: number): "ipv4" | "ipv6" => (version === 4 ? "ipv4" : "ipv6");

export const inSet = (set: BlockList, address: string): boolean => {
  const version = isIP(address);
  return version !== 0 && set.check(address, family(version));
};

/** IPv4 in IPv6's clothes (`::ffff:1.2.3.4`), as dual-stack sockets report it, becomes plain IPv4. */
export const plainAddress = (address: string): string =>
  address.startsWith("::ffff:") && address.includes(".") ? address.slice("::ffff:".length) : address;

export interface Trust {
  trusts(peer: string): boolean;
  /** The client's address: the peer's unless a trusted peer names another. */
  clientAddress(peer: string, header: (name: string) => string | undefined): string;
}

export function createTrust(trustedIps: readonly string[], realIpHeader: "x-real-ip" | "x-forwarded-for"): Trust {
  if (trustedIps.length === 0) return { trusts: () => false, clientAddress: (peer) => peer };
  const set = addressSet(trustedIps);
  const trusts = (peer: string) => inSet(set, peer);
  return {
    trusts,
    clientAddress(peer, header) {
      if (!trusts(peer)) return peer;
      const named = (header(realIpHeader) ?? "").split(",").map((address) => plainAddress(address.trim()));
      // Each proxy appended the peer that it saw: from the right, the first that is not ours is the client.
      const client = named.findLast((address) => isIP(address) !== 0 && !trusts(address));
      return client ?? named.find((address) => isIP(address) !== 0) ?? peer;
    },
  };
}
