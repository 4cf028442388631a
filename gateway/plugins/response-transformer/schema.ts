/** Config of response-transformer: changes of responses before they are sent to the client. */
import {
  array,
  checkEntries,
  choice,
  definePluginFacts,
  isEntryHeaderName,
  namedValueOf,
  type RecordRule,
  record,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const MAX_ENTRIES = 128;

const list = (entry: string, description: string) =>
  array(text({ description: entry, maxLength: 4096 }), { description, default: [], maxItems: MAX_ENTRIES });

const NAME = "A name.";
const RENAME = "The current name, a colon and the new name.";
const VALUE = "A name, a colon and a value.";

const lists = (entry: string, what: string) => ({
  json: list(entry, `${what} in a JSON body. Default: none.`),
  headers: list(entry, `${what} in the headers. Default: none.`),
});

const valueLists = (what: string) => ({
  ...lists(VALUE, what),
  json_types: array(choice(["boolean", "number", "string"], { description: "A type." }), {
    description: "Types of the values of `json`, in the same order. A value without a type is a string. Default: none.",
    default: [],
    maxItems: MAX_ENTRIES,
  }),
});

const schema = record(
  {
    remove: record(lists(NAME, "Members to remove"), {
      description: "Removes members. An entry is a name.",
      default: {},
    }),
    rename: record(lists(RENAME, "Members to rename"), {
      description: "Renames members that exist. An entry is `old:new`. A member that has the new name is overwritten.",
      default: {},
    }),
    replace: record(valueLists("Members to replace"), {
      description: "Replaces the values of members that exist. An entry is `name:value`.",
      default: {},
    }),
    add: record(valueLists("Members to add"), {
      description: "Adds members that do not exist. An entry is `name:value`.",
      default: {},
    }),
    append: record(valueLists("Values to append"), {
      description: "Adds a value to a member; a member that does not exist is added. An entry is `name:value`.",
      default: {},
    }),
  },
  {
    description:
      "Changes responses before they are sent to the client, in the order remove, rename, replace, add, append. A JSON " +
      "body is buffered for this; one that is longer than 8 MiB is replaced by a response with status 502.",
  },
);

export type ResponseTransformerConfig = Static<typeof schema>;

/**
 * Kong's message for an invalid entry; undefined: the entry is valid. Unlike Kong, checks the name of every header that
 * an action may set, because an invalid name would break the head of the response.
 */
function faultIn(entry: string, action: string, list: string): string | undefined {
  const { name, value } = namedValueOf(entry);
  if (name === "" || !entry.includes(":")) return `invalid value: ${entry}`;
  if (list === "json") return undefined;
  const names = action === "rename" ? [name, value] : [name];
  return names.filter((each) => !isEntryHeaderName(each)).map((each) => `'${each}' is not a valid header`)[0];
}

const checkResponseTransformer: RecordRule = (config) =>
  ["rename", "replace", "add", "append"].flatMap((action) =>
    ["json", "headers"].flatMap((list) =>
      checkEntries(config, [action, list], (entry) => faultIn(entry, action, list)),
    ),
  );

export const responseTransformerFacts = definePluginFacts({
  name: "response-transformer",
  version: "0.1.0",
  priority: 800,
  // An unchanged response could show what the plugin removes.
  protects: true,
  schema,
  check: checkResponseTransformer,
});
