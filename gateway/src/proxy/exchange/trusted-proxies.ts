/** Which proxies are trusted, and the address of the client behind them. */
import { isIPv4, isIPv6 } from "node:net";
import { addressSet, canonicalAddress, isInAddressSet } from "../../outbound/address-set.ts";

const WITH_PORT = /^(?:([\d.]+)|\[([^[\]]+)\])(?::(\d{1,5}))?$/;

/** The address in X-Real-IP or in an entry of X-Forwarded-For; some proxies append a port. Null: no valid address. */
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
