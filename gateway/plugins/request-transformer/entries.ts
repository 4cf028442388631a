/** Entries of the config's lists: a name, or a name and a template, separated by a colon. */
import {
  checkEntries,
  isEntryHeaderName,
  isRecord,
  namedValueOf,
  parseTemplate,
  type RecordRule,
  type Template,
  type Violation,
} from "@sluice/plugin-sdk";

export interface Entry {
  readonly name: string;
  /** Null: the entry has no value. */
  readonly template: Template | null;
}

/** The entries of a valid list. */
export const entriesOf = (list: readonly string[]): readonly Entry[] =>
  list.map((entry) => {
    const { name, value } = namedValueOf(entry);
    return { name, template: value === "" ? null : templateOf(value) };
  });

/** Parses a template. Throws if it is invalid, which the config's check excludes. */
export function templateOf(source: string): Template {
  const { value, violations } = parseTemplate(source);
  if (violations !== undefined) throw new Error(violations[0]?.message);
  return value;
}

type EntryRule = (entry: string) => string | undefined;

const invalidHeader = (name: string) => `'${name}' is not a valid header`;

const removedHeader: EntryRule = (entry) => {
  const { name } = namedValueOf(entry);
  return isEntryHeaderName(name) ? undefined : invalidHeader(name);
};

const renamedHeader: EntryRule = (entry) => {
  const { name, value } = namedValueOf(entry);
  if (name === "" || !entry.includes(":")) return `invalid value: ${entry}`;
  return [name, value].filter((each) => !isEntryHeaderName(each)).map(invalidHeader)[0];
};

const headerWithValue: EntryRule = (entry) => {
  const { name, value } = namedValueOf(entry);
  if (name === "" || !entry.includes(":")) return `invalid value: ${entry}`;
  return isEntryHeaderName(name) ? unsupported(value) : invalidHeader(name);
};

const withValue: EntryRule = (entry) => {
  const { name, value } = namedValueOf(entry);
  return name === "" || value === "" ? `key '${name}' has no value` : unsupported(value);
};

function unsupported(value: string): string | undefined {
  const problem = parseTemplate(value).violations?.[0]?.message;
  return problem === undefined ? undefined : `value '${value}' is not in supported format, error: ${problem}`;
}

const anything: EntryRule = () => undefined;

/** Rules by action and list. */
const rules: Readonly<Record<string, Readonly<Record<string, EntryRule>>>> = {
  remove: { body: anything, headers: removedHeader, querystring: anything },
  rename: { body: withValue, headers: renamedHeader, querystring: withValue },
  replace: { body: withValue, headers: headerWithValue, querystring: withValue },
  add: { body: withValue, headers: headerWithValue, querystring: withValue },
  append: { body: withValue, headers: headerWithValue, querystring: withValue },
};

export const checkRequestTransformer: RecordRule = (config) => {
  const found = Object.entries(rules).flatMap(([action, lists]) =>
    Object.entries(lists).flatMap(([list, faultOf]) => checkEntries(config, [action, list], faultOf)),
  );
  const report = (path: Violation["path"], message: string | undefined) => {
    if (message !== undefined) found.push({ path, message });
  };
  const uri = isRecord(config.replace) ? config.replace.uri : null;
  if (typeof uri === "string") report(["replace", "uri"], unsupported(uri));
  // A CONNECT request would turn the connection to the upstream into a tunnel.
  if (config.http_method === "CONNECT") report(["http_method"], "invalid value: CONNECT");
  return found;
};
