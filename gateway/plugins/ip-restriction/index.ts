/**
 * ip-restriction: accepts or refuses requests by the client's address
 * (docs/reference/kong-compatibility.md#ip-restriction).
 */
import { BlockList, isIP } from "node:net";
import { type DirectResponse, definePlugin, StringCache } from "@sluice/plugin-sdk";
import { ipRestrictionFacts } from "./schema.ts";

const family = (version: number): "ipv4" | "ipv6" => (version === 4 ? "ipv4" : "ipv6");

/** The entries as a block list; null: the list is unset or empty, so it restricts nothing. */
function blockList(entries: readonly string[] | null): BlockList | null {
  if (entries === null || entries.length === 0) return null;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/", 2);
    const version = isIP(address);
    if (prefix === undefined) list.addAddress(address, family(version));
    else list.addSubnet(address, Number(prefix), family(version));
  }
  return list;
}

/**
 * The response to a client without an IP address, such as one on a Unix domain socket. As in Kong, `status` and
 * `message` do not apply to it.
 */
const unidentified: DirectResponse = {
  status: 403,
  message: "Cannot identify the client IP address, unix domain sockets are not supported.",
};

interface Decision {
  /** Undefined: the request is accepted. */
  readonly answer: DirectResponse | undefined;
}

const accepted: Decision = { answer: undefined };

export const ipRestriction = definePlugin({
  ...ipRestrictionFacts,
  phases({ allow, deny, status, message }) {
    const allowed = blockList(allow);
    const denied = blockList(deny);

    function decide(address: string): Decision {
      const version = isIP(address);
      if (version === 0) return { answer: unidentified };
      const passes =
        denied?.check(address, family(version)) !== true && allowed?.check(address, family(version)) !== false;
      if (passes) return accepted;
      return { answer: { status: status ?? 403, message: message ?? `IP address not allowed: ${address}` } };
    }

    // A lookup in a BlockList takes time proportional to its length, and most clients send more than one request.
    const decisions = new StringCache(decide);
    return { access: ({ request }) => decisions.of(request.clientAddress).answer };
  },
});
