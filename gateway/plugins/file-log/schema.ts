/** Config of file-log: the file to which records are appended. */
import {
  boolean,
  definePluginFacts,
  luaFields,
  type RecordRule,
  record,
  refuseLuaFields,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const schema = record(
  {
    path: text({
      description:
        "The file on each node. It is created if it does not exist; its folder must exist and be writable by the node.",
      maxLength: 4096,
    }),
    reopen: boolean({
      description: "Whether the file is opened for every write, for log rotation that moves files.",
      default: false,
    }),
    custom_fields_by_lua: luaFields,
  },
  {
    description:
      "Appends a record of every request to a file, as a line of JSON in Kong's format. Authorization headers and API " +
      "keys are redacted.",
  },
);

export type FileLogConfig = Static<typeof schema>;

/** Kong's pattern, which here also excludes NUL: no path may contain it. */
const FILE_NAME = /^[^*&%`\0]+$/;

const check: RecordRule = (members) => {
  const { path } = members;
  const isBad = typeof path === "string" && path !== "" && !FILE_NAME.test(path);
  return [...(isBad ? [{ path: ["path"], message: "not a valid filename" }] : []), ...refuseLuaFields(members)];
};

export const fileLogFacts = definePluginFacts({
  name: "file-log",
  version: "0.1.0",
  priority: 9,
  protects: false,
  actsOnConnections: "byProtocol",
  check,
  schema,
});
