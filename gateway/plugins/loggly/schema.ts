/** Config of loggly: the account at Loggly, and the severities of records. */
import {
  decimal,
  definePluginFacts,
  integer,
  luaFields,
  quotedList,
  type RecordRule,
  record,
  refuseLuaFields,
  type Static,
  set,
  severityMembers,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    host: text({
      description: "Name or address of the server.",
      rule: "host",
      default: "logs-01.loggly.com",
      maxLength: 253,
    }),
    port: integer({ description: "Port of the server.", default: 514, minimum: 0, maximum: 65_535 }),
    key: text({ description: "The customer token.", secret: true, maxLength: 1024, referenceable: true }),
    tags: set(text({ description: "A tag.", maxLength: 256 }), {
      description: "Tags of the records.",
      default: ["kong"],
      maxItems: 64,
    }),
    ...severityMembers,
    timeout: decimal({ description: "Has no effect: a datagram is not acknowledged.", default: 10_000 }),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Sends a record of every request to Loggly as a datagram in the format of RFC 5424, with Kong's JSON. " +
      "Authorization headers and API keys are redacted.",
  },
);

export type LogglyConfig = Static<typeof schema>;

/** Characters that would end or change the structured data (RFC 5424 section 6.3), which contains token and tags. */
const UNSAFE = /["\]\\\s]/;

const check: RecordRule = (members) => {
  const { key, tags } = members;
  const isBad = (value: unknown) => typeof value === "string" && UNSAFE.test(value);
  const message = `must not contain white space or one of ${quotedList(['"', "]", "\\"])}`;
  return [
    ...(isBad(key) ? [{ path: ["key"], message }] : []),
    ...(Array.isArray(tags) ? tags : []).flatMap((tag, at) => (isBad(tag) ? [{ path: ["tags", at], message }] : [])),
    ...refuseLuaFields(members),
  ];
};

export const logglyFacts = definePluginFacts({
  name: "loggly",
  version: "0.1.0",
  priority: 6,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
