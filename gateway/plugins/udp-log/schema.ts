/** Config of udp-log: the server that receives records as datagrams. */
import {
  decimal,
  definePluginFacts,
  integer,
  luaFields,
  record,
  refuseLuaFields,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    host: text({ description: "Name or address of the server.", rule: "host", maxLength: 253 }),
    port: integer({ description: "Port of the server.", minimum: 0, maximum: 65_535 }),
    timeout: decimal({ description: "Has no effect: a datagram is not acknowledged.", default: 10_000 }),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Sends a record of every request as a datagram, in Kong's JSON format. A record above 65,507 bytes is dropped. " +
      "Authorization headers and API keys are redacted.",
  },
);

export type UdpLogConfig = Static<typeof schema>;

export const udpLogFacts = definePluginFacts({
  name: "udp-log",
  version: "0.1.0",
  priority: 8,
  protects: false,
  actsOnConnections: "byProtocol",
  check: refuseLuaFields,
  schema,
});
