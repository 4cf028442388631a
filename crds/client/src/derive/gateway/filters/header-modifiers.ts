/** RequestHeaderModifier and ResponseHeaderModifier as configs of request-transformer and response-transformer. */

interface Header {
  readonly name: string;
  readonly value: string;
}

interface HeaderModifier {
  readonly set?: readonly Header[];
  readonly add?: readonly Header[];
  readonly remove?: readonly string[];
}

const modifierOf = (filter: unknown): HeaderModifier => Object(filter) as HeaderModifier;

/**
 * Writes a value so that request-transformer uses it unchanged. `$(` would begin an expression, so its `$` is written
 * as an expression of its own.
 */
export const escapeVariables = (text: string): string => text.replaceAll("$(", () => "$('$')(");

/** What happens to a header. */
interface HeaderEdit {
  readonly name: string;
  /** The value that replaces those of the message; null: the header is removed; undefined: it is kept. */
  readonly value: string | null | undefined;
  /** Values that are added. */
  readonly added: readonly string[];
}

/**
 * Collects the changes of headers in their order, because a route has at most one request-transformer and one
 * response-transformer.
 *
 * @param textOf Returns the form of a value in the config.
 */
export function createHeaderEdits(textOf: (value: string) => string) {
  const edits = new Map<string, HeaderEdit>();
  const edit = (name: string, change: (before: HeaderEdit | undefined) => Omit<HeaderEdit, "name">): void => {
    const key = name.toLowerCase();
    edits.set(key, { name, ...change(edits.get(key)) });
  };
  const set = ({ name, value }: Header): void => edit(name, () => ({ value, added: [] }));
  const entry = (name: string, value: string): string => `${name}:${textOf(value)}`;
  return {
    set,
    modify(filter: unknown): void {
      const { set: toSet = [], add = [], remove = [] } = modifierOf(filter);
      for (const name of remove) edit(name, () => ({ value: null, added: [] }));
      for (const header of toSet) set(header);
      for (const { name, value } of add)
        edit(name, (before) => ({ value: before?.value, added: [...(before?.added ?? []), value] }));
    },
    /** Members of the config; undefined: no header is changed. */
    config() {
      if (edits.size === 0) return undefined;
      const all = [...edits.values()];
      const replaced = all.flatMap(({ name, value }) => (typeof value === "string" ? [entry(name, value)] : []));
      return {
        remove: { headers: all.flatMap(({ name, value }) => (value === null ? [name] : [])) },
        // A header that exists is replaced, and a header that does not exist is added.
        replace: { headers: replaced },
        add: { headers: replaced },
        append: { headers: all.flatMap(({ name, added }) => added.map((value) => entry(name, value))) },
      };
    },
  };
}
