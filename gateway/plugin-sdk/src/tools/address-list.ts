/** Lists of IP addresses and CIDR blocks in configs. */
import { BlockList, isIP } from "node:net";
import { array, nullable, text } from "../schema/member.ts";
import { StringCache } from "./string-cache.ts";

/** A config member with a list of addresses and blocks. */
export const addressListMember = (description: string) =>
  nullable(
    array(text({ description: "An IP address or a CIDR block.", rule: "ip-or-cidr", maxLength: 64 }), {
      description,
      maxItems: 4096,
    }),
  );

const family = (version: number): "ipv4" | "ipv6" => (version === 4 ? "ipv4" : "ipv6");

/** Whether an address is in a list. */
export type AddressList = (address: string) => boolean;

/**
 * @param entries Valid addresses and blocks
 * @returns null: the list is unset or empty
 */
export function addressList(entries: readonly string[] | null): AddressList | null {
  if (entries === null || entries.length === 0) return null;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/", 2);
    const version = isIP(address);
    if (prefix === undefined) list.addAddress(address, family(version));
    else list.addSubnet(address, Number(prefix), family(version));
  }
  const decide = (address: string): number => {
    const version = isIP(address);
    return version !== 0 && list.check(address, family(version)) ? 1 : 0;
  };
  // A lookup in a BlockList takes time proportional to its length, and most clients send more than one request.
  const decisions = new StringCache(decide);
  return (address) => decisions.of(address) === 1;
}
