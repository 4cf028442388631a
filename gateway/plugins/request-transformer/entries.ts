/** Entries of the config's lists: a name, or a name and a template, separated by a colon. */
import { parseTemplate, type RecordMembers, type RecordRule, type Template, type Violation } from "@sluice/plugin-sdk";

export interface Entry {
  readonly name: string;
  /** Null: the entry has no value. */
  readonly template: Template | null;
}

/** The parts around the first run of colons; the name is empty if the entry starts with a colon. */
function split(entry: string): { readonly name: string; readonly value: string } {
  const colon = entry.indexOf(":");
  if (colon < 0) return { name: entry, value: "" };
  return { name: entry.slice(0, colon), value: entry.slice(colon).replace(/^:+/, "") };
}

/** The entries of a valid list. */
export const entriesOf = (list: readonly string[]): readonly Entry[] =>
  list.map((entry) => {
    const { name, value } = split(entry);
    return { name, template: value === "" ? null : templateOf(value) };
  });

/** The template of a valid config. */
export function templateOf(source: string): Template {
  const { value, violations } = parseTemplate(source);
  if (violations !== undefined) throw new Error(violations[0]?.message);
  return value;
}

type EntryRule = (entry: string) => string | undefined;

const isHeaderName = (name: string): boolean => /^[A-Za-z0-9\-_]+$/.test(name) && name !== "__proto__";

const invalidHeader = (name: string) => `'${name}' is not a valid header`;

const removedHeader: EntryRule = (entry) => {
  const { name } = split(entry);
  return isHeaderName(name) ? undefined : invalidHeader(name);
};

const renamedHeader: EntryRule = (entry) => {
  const { name, value } = split(entry);
  if (name === "" || !entry.includes(":")) return `invalid value: ${entry}`;
  return [name, value].filter((each) => !isHeaderName(each)).map(invalidHeader)[0];
};

const headerWithValue: EntryRule = (entry) => {
  const { name, value } = split(entry);
  if (name === "" || !entry.includes(":")) return `invalid value: ${entry}`;
  return isHeaderName(name) ? unsupported(value) : invalidHeader(name);
};

const withValue: EntryRule = (entry) => {
  const { name, value } = split(entry);
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

const membersOf = (value: unknown): RecordMembers =>
  typeof value === "object" && value !== null ? (value as RecordMembers) : {};

export const checkRequestTransformer: RecordRule = (config) => {
  const found: Violation[] = [];
  const report = (path: Violation["path"], message: string | undefined) => {
    if (message !== undefined) found.push({ path, message });
  };
  for (const [action, lists] of Object.entries(rules)) {
    for (const [list, rule] of Object.entries(lists)) {
      const entries = membersOf(config[action])[list];
      if (!Array.isArray(entries)) continue;
      for (const [index, entry] of entries.entries()) {
        if (typeof entry === "string" && entry !== "") report([action, list, index], rule(entry));
      }
    }
  }
  const { uri } = membersOf(config.replace);
  if (typeof uri === "string") report(["replace", "uri"], unsupported(uri));
  // A CONNECT request would turn the upstream's connection into a tunnel.
  if (config.http_method === "CONNECT") report(["http_method"], "invalid value: CONNECT");
  return found;
};
