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
 * A text that request-transformer uses as it is. `$(` would begin an expression, so its `$` is written as an expression
 * of its own.
 */
export const literal = (text: string): string => text.replaceAll("$(", () => "$('$')(");

const entry = ({ name, value }: Header): string => `${name}:${value}`;
const literalEntry = ({ name, value }: Header): string => `${name}:${literal(value)}`;

/** Collects the changes of requests, because a route has at most one request-transformer. */
export function createHeaderEdits() {
  const removed: string[] = [];
  const set: Header[] = [];
  const added: Header[] = [];
  let path: string | undefined;
  return {
    modify(filter: unknown): void {
      const { set: toSet = [], add = [], remove = [] } = modifierOf(filter);
      removed.push(...remove);
      set.push(...toSet);
      added.push(...add);
    },
    setHost(host: string): void {
      set.push({ name: "Host", value: host });
    },
    /** Replaces the whole path. */
    setPath(to: string): void {
      path = to;
    },
    /** The config of request-transformer; undefined: nothing is changed. */
    config(): object | undefined {
      if (path === undefined && removed.length + set.length + added.length === 0) return undefined;
      return {
        remove: { headers: removed },
        // A header that exists is replaced, and a header that does not exist is added.
        replace: { headers: set.map(literalEntry), ...(path !== undefined && { uri: literal(path) }) },
        add: { headers: set.map(literalEntry) },
        append: { headers: added.map(literalEntry) },
      };
    },
  };
}

export function responseTransformerConfig(filter: unknown): object {
  const { set = [], add = [], remove = [] } = modifierOf(filter);
  return {
    remove: { headers: remove },
    replace: { headers: set.map(entry) },
    add: { headers: set.map(entry) },
    append: { headers: add.map(entry) },
  };
}
