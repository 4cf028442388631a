/** Config of ip-restriction: which client addresses may send requests. */
import {
  addressListMember,
  atLeastOneOf,
  definePluginFacts,
  integer,
  nullable,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    allow: addressListMember("Addresses and CIDR blocks from which requests are accepted; unset or empty accepts all."),
    deny: addressListMember(
      "Addresses and CIDR blocks from which requests are refused, even if `allow` contains them.",
    ),
    status: nullable(
      integer({
        description: "Status of the response to a refused request. If unset, it is 403.",
        minimum: 200,
        maximum: 599,
      }),
    ),
    message: nullable(
      text({
        description: "Message of the response to a refused request. If unset, it contains the client's address.",
        maxLength: 1024,
      }),
    ),
  },
  {
    description:
      "Accepts or refuses requests, and connections of the protocols tcp, tls and tls_passthrough, by the client's " +
      "address, which is that of the connection unless a trusted proxy reports another. A refused connection is " +
      "closed. At least one of `allow` and `deny` must be set.",
  },
);

export type IpRestrictionConfig = Static<typeof schema>;

export const ipRestrictionFacts = definePluginFacts({
  name: "ip-restriction",
  version: "0.1.0",
  priority: 990,
  protects: true,
  // In Kong, the default `protocols` of this plugin contain tcp and tls.
  actsOnConnections: "byDefault",
  check: (config) => atLeastOneOf(config, ["allow", "deny"], "config."),
  kongChecks: [{ at_least_one_of: ["config.allow", "config.deny"] }],
  schema,
});
