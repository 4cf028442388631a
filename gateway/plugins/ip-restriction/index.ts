/**
 * ip-restriction: accepts or refuses requests and connections by the client's address
 * (docs/reference/kong-compatibility.md#ip-restriction).
 */
import { isIP } from "node:net";
import { addressList, type DirectResponse, definePlugin } from "@sluice/plugin-sdk";
import { ipRestrictionFacts } from "./schema.ts";

/**
 * The response to a client without an IP address, such as one on a Unix domain socket. As in Kong, `status` and
 * `message` do not apply to it.
 */
const unidentified: Required<Pick<DirectResponse, "status" | "message">> = {
  status: 403,
  message: "Cannot identify the client IP address, unix domain sockets are not supported.",
};

export const ipRestriction = definePlugin({
  ...ipRestrictionFacts,
  phases({ allow, deny, status, message }) {
    const isAllowed = addressList(allow);
    const isDenied = addressList(deny);
    function refusalOf(address: string): typeof unidentified | undefined {
      if (isIP(address) === 0) return unidentified;
      if (isDenied?.(address) !== true && isAllowed?.(address) !== false) return undefined;
      return { status: status ?? 403, message: message ?? `IP address not allowed: ${address}` };
    }

    return {
      access: ({ request }) => refusalOf(request.clientAddress),
      connection({ clientAddress }) {
        const refusal = refusalOf(clientAddress);
        return refusal && { status: refusal.status, reason: refusal.message };
      },
    };
  },
});
