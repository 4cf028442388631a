/** Config of request-transformer: changes of requests before they are forwarded. */
import { array, definePluginFacts, nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { checkRequestTransformer } from "./entries.ts";

const MAX_ENTRIES = 128;

const list = (entry: string, description: string) =>
  array(text({ description: entry, maxLength: 4096 }), { description, default: [], maxItems: MAX_ENTRIES });

const NAME = "A name.";
const RENAME = "The current name, a colon and the new name.";
const VALUE = "A name, a colon and a template of the value.";

const lists = (entry: string, what: string) => ({
  body: list(entry, `${what} in a form, JSON or multipart body. Default: none.`),
  headers: list(entry, `${what} in the headers. Default: none.`),
  querystring: list(entry, `${what} in the query. Default: none.`),
});

const schema = record(
  {
    http_method: nullable(
      text({
        description:
          "The method that is sent to the upstream, in upper case; unset keeps the client's. With GET, HEAD and TRACE " +
          "the members of a form body are added to the query.",
        rule: "method",
        maxLength: 32,
      }),
    ),
    remove: record(lists(NAME, "Members to remove"), {
      description: "Removes members. An entry is a name.",
      default: {},
    }),
    rename: record(lists(RENAME, "Members to rename"), {
      description: "Renames members that exist. An entry is `old:new`. A member that has the new name is overwritten.",
      default: {},
    }),
    replace: record(
      {
        ...lists(VALUE, "Members to replace"),
        uri: nullable(
          text({
            description:
              "A template of the path that is sent to the upstream, with a leading /. It replaces the path of the service too.",
            maxLength: 4096,
          }),
        ),
      },
      { description: "Replaces the values of members that exist. An entry is `name:value`.", default: {} },
    ),
    add: record(lists(VALUE, "Members to add"), {
      description: "Adds members that do not exist. An entry is `name:value`.",
      default: {},
    }),
    append: record(lists(VALUE, "Values to append"), {
      description:
        "Adds a value to a member; a member that does not exist is added. An entry is `name:value`. Multipart bodies " +
        "are not changed.",
      default: {},
    }),
  },
  {
    description:
      "Changes requests before they are forwarded, in the order remove, rename, replace, add, append (in multipart " +
      "bodies rename comes first). Values are templates: $(headers.name), $(query_params.name), $(uri_captures.name) " +
      "and $(shared.name) are values of the request as it was before this plugin ran. $( ) may contain a subset of " +
      "Lua: headers['name'], strings, nil, true, false, or, and, not, ==, ~=, .., parentheses, :sub(i, j), :lower() " +
      "and :upper().",
  },
);

export type RequestTransformerConfig = Static<typeof schema>;

export const requestTransformerFacts = definePluginFacts({
  name: "request-transformer",
  version: "0.1.0",
  priority: 801,
  // An unchanged request could carry headers that the plugin removes.
  protects: true,
  schema,
  check: checkRequestTransformer,
});
