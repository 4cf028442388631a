/** Config of syslog: the server, the facility, and the severities of records. */
import {
  choice,
  definePluginFacts,
  integer,
  luaFields,
  nullable,
  type RecordRule,
  record,
  refuseLuaFields,
  type Static,
  severityMembers,
  text,
} from "@sluice/plugin-sdk";

/** Numbers of the facilities (RFC 5424 section 6.2.1), by the names of syslog.h. */
export const facilities = {
  auth: 4,
  authpriv: 10,
  cron: 9,
  daemon: 3,
  ftp: 11,
  kern: 0,
  lpr: 6,
  mail: 2,
  news: 7,
  syslog: 5,
  user: 1,
  uucp: 8,
  local0: 16,
  local1: 17,
  local2: 18,
  local3: 19,
  local4: 20,
  local5: 21,
  local6: 22,
  local7: 23,
} as const;

const names = Object.keys(facilities) as (keyof typeof facilities)[];

const schema = record(
  {
    host: nullable(
      text({
        description: "Required: name or address of a syslog server that receives datagrams. Kong has no such field.",
        rule: "host",
        maxLength: 253,
      }),
    ),
    port: integer({
      description: "Port of the server. Kong has no such field.",
      default: 514,
      minimum: 1,
      maximum: 65_535,
    }),
    ...severityMembers,
    facility: choice(names, { description: "The facility of the records.", default: "user" }),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Sends a record of every request to a syslog server as a datagram (RFC 5424 and 5426), with Kong's JSON. A message " +
      "above 65,507 bytes is dropped. Authorization headers and API keys are redacted.",
  },
);

export type SyslogConfig = Static<typeof schema>;

const NO_HOST =
  "set it to a syslog server that receives datagrams: unlike Kong, nodes cannot write to the socket of the local syslog " +
  "daemon (/dev/log), because Node.js has no datagram sockets in the file system";

const check: RecordRule = (members) => [
  ...(members.host === null || members.host === undefined ? [{ path: ["host"], message: NO_HOST }] : []),
  ...refuseLuaFields(members),
];

export const syslogFacts = definePluginFacts({
  name: "syslog",
  version: "0.1.0",
  priority: 4,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
