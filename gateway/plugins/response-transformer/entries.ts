/** The check of the entries in the config's lists. */
import { checkEntries, isEntryHeaderName, namedValueOf, type RecordRule } from "@sluice/plugin-sdk";

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

export const checkResponseTransformer: RecordRule = (config) =>
  ["rename", "replace", "add", "append"].flatMap((action) =>
    ["json", "headers"].flatMap((list) =>
      checkEntries(config, [action, list], (entry) => faultIn(entry, action, list)),
    ),
  );
