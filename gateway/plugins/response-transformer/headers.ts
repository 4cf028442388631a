/** Changes of the headers of a response. As in Kong, conditions refer to the headers before any of the changes. */
import {
  connectionHeaders,
  type Exchange,
  type HeaderEdit,
  headerValue,
  lowerCase,
  type NamedValue,
  namedValueOf,
  removeHeaderEdit,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import type { ResponseTransformerConfig } from "./schema.ts";

interface ConditionalEdit {
  /** The name in lower case of the header whose presence decides about the edit. */
  readonly lower: Lowercase<string>;
  readonly edit: HeaderEdit;
}

interface Renaming {
  readonly lower: Lowercase<string>;
  readonly to: string;
  readonly removal: HeaderEdit;
}

export class HeaderChanges {
  readonly #removed: readonly HeaderEdit[];
  readonly #renamed: readonly Renaming[];
  readonly #replaced: readonly ConditionalEdit[];
  readonly #added: readonly ConditionalEdit[];
  readonly #appended: readonly NamedValue[];

  constructor({ remove, rename, replace, add, append }: ResponseTransformerConfig) {
    this.#removed = changeable(remove.headers.map(namedValueOf)).map(({ name }) => removeHeaderEdit(name));
    this.#renamed = changeable(rename.headers.map(namedValueOf))
      .filter(({ name, value }) => lowerCase(name) !== lowerCase(value) && !connectionHeaders.has(lowerCase(value)))
      .map(({ name, value }) => ({ lower: lowerCase(name), to: value, removal: removeHeaderEdit(name) }));
    this.#replaced = withValue(replace.headers).map(conditional);
    this.#added = withValue(add.headers).map(conditional);
    this.#appended = withValue(append.headers);
  }

  apply(exchange: Exchange): void {
    const { responseHeaders } = exchange;
    const exists = ({ lower }: ConditionalEdit): boolean => exchange.responseHeaderValues(lower).length > 0;
    const renamed = this.#renamed.map((each) => ({ ...each, values: exchange.responseHeaderValues(each.lower) }));
    const set = [...this.#replaced.filter(exists), ...this.#added.filter((each) => !exists(each))];
    for (const edit of this.#removed) responseHeaders.apply(edit);
    for (const { to, values, removal } of renamed) {
      const [first, ...others] = values;
      if (first === undefined) continue;
      responseHeaders.set(to, first);
      for (const value of others) responseHeaders.append(to, value);
      responseHeaders.apply(removal);
    }
    for (const { edit } of set) responseHeaders.apply(edit);
    for (const { name, value } of this.#appended) responseHeaders.append(name, value);
  }
}

const changeable = (entries: readonly NamedValue[]): readonly NamedValue[] =>
  entries.filter(({ name }) => !connectionHeaders.has(lowerCase(name)));

/**
 * The entries that have a value, without those for headers of the connection. White space around a value is not part of
 * the value (RFC 9110 5.5), and is forbidden in HTTP/2 (RFC 9113 8.2.1).
 */
const withValue = (entries: readonly string[]): readonly NamedValue[] =>
  changeable(entries.map(namedValueOf))
    .filter(({ value }) => value !== "")
    .map(({ name, value }) => ({ name, value: headerValue(value.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, "")) }));

const conditional = ({ name, value }: NamedValue): ConditionalEdit => ({
  lower: lowerCase(name),
  edit: setHeaderEdit(name, value),
});
