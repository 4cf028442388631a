/** Config of concurrency-limiting: the number of requests in progress. */
import {
  addressListMember,
  definePluginFacts,
  integer,
  limitByKongChecks,
  limitByMembers,
  limitByViolations,
  record,
  type Static,
  scopeNameMember,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    limit: integer({
      description: "Number of requests of one client that may be in progress at the same time.",
      minimum: 1,
      maximum: 1_000_000,
    }),
    ...limitByMembers("ip"),
    scope_name: scopeNameMember(),
    exempt: addressListMember("Addresses and CIDR blocks of clients whose requests are neither limited nor counted."),
    error_code: integer({
      description: "Status of the response to a request over the limit.",
      default: 503,
      minimum: 400,
      maximum: 599,
    }),
    error_message: text({
      description: "Message of the response to a request over the limit.",
      default: "Too many requests in progress",
      maxLength: 1024,
    }),
  },
  {
    description:
      "Limits the number of requests that each client has in progress at the same time. A request is in progress " +
      "from the time at which the plugin admits it until its response has been sent, or its client has disconnected. " +
      "A WebSocket is in progress until its connection ends; each stream of HTTP/2 is a request of its own, and idle " +
      "connections do not count. A refused request is not counted. Each node counts on its own. The count is exact, " +
      "and includes the requests of all workers of the node. If `protocols` of the instance contain tcp, tls or " +
      "tls_passthrough, it also limits the open connections of these Routes, by ip or service: a connection over the " +
      "limit is closed. Requests and connections with the same counter are counted together.",
  },
);

export type ConcurrencyLimitingConfig = Static<typeof schema>;

export const concurrencyLimitingFacts = definePluginFacts({
  name: "concurrency-limiting",
  version: "0.1.0",
  // After rate-limiting (910): a request that is over both limits gets the response of rate-limiting.
  priority: 905,
  protects: true,
  actsOnConnections: "byProtocol",
  check: limitByViolations,
  kongChecks: limitByKongChecks,
  schema,
});
