/** Config of tcp-log: the server that receives records over TCP. */
import {
  boolean,
  decimal,
  definePluginFacts,
  integer,
  luaFields,
  nullable,
  record,
  refuseLuaFields,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const MAX_TIMEOUT = 2_147_483_646;

const schema = record(
  {
    host: text({ description: "Name or address of the server.", rule: "host", maxLength: 253 }),
    port: integer({ description: "Port of the server.", minimum: 0, maximum: 65_535 }),
    timeout: decimal({
      description: "Milliseconds within which a connection must be open, and data must have been accepted.",
      default: 10_000,
      minimum: 1,
      maximum: MAX_TIMEOUT,
    }),
    keepalive: decimal({
      description: "Milliseconds that an idle connection is kept.",
      default: 60_000,
      minimum: 1,
      maximum: MAX_TIMEOUT,
    }),
    tls: boolean({ description: "Whether to use TLS. The server's certificate is verified.", default: false }),
    tls_sni: nullable(
      text({
        description: "The name that is sent by SNI, and that the certificate must have; unset: the host.",
        maxLength: 253,
      }),
    ),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Sends a record of every request over TCP, as a line of JSON in Kong's format. Each worker of a node has one " +
      "connection. Authorization headers and API keys are redacted.",
  },
);

export type TcpLogConfig = Static<typeof schema>;

export const tcpLogFacts = definePluginFacts({
  name: "tcp-log",
  version: "0.1.0",
  priority: 7,
  protects: false,
  actsOnConnections: "byProtocol",
  check: refuseLuaFields,
  schema,
});
