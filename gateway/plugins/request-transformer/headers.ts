/**
 * Changes of the headers that are forwarded. They are applied after all templates are rendered, because templates show
 * the headers as they were before any change.
 */
import {
  connectionHeaders,
  type Exchange,
  type HeaderEdit,
  lowerCase,
  setHeaderEdit,
  type TemplateScope,
} from "@sluice/plugin-sdk";
import type { Entry } from "./entries.ts";
import type { RequestTransformerConfig } from "./schema.ts";
import { type Actions, actionsOf } from "./transform.ts";

interface HeaderEntry {
  readonly name: string;
  readonly lower: Lowercase<string>;
  /** The value as an edit, if it is the same for every request. */
  readonly edit: HeaderEdit | null;
  readonly value: (scope: TemplateScope) => string | undefined;
}

type HeaderActions = Readonly<Record<keyof Actions, readonly HeaderEntry[]>>;

function headerEntry({ name, template }: Entry): HeaderEntry {
  const constant = template?.constant ?? null;
  return {
    name,
    lower: lowerCase(name),
    edit: constant === null ? null : setHeaderEdit(name, trimmed(constant)),
    value: (scope) => (template === null ? undefined : trimmed(template.render(scope))),
  };
}

/** White space around a value is not part of the value (RFC 9110 5.5), and is forbidden in HTTP/2 (RFC 9113 8.2.1). */
const trimmed = (value: string): string => value.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, "");

/** The actions on headers, without those on headers of the connection; null: the config has none. */
export function headerActionsOf(config: RequestTransformerConfig): HeaderActions | null {
  const actions = actionsOf(config, "headers");
  if (actions === null) return null;
  const of = (entries: readonly Entry[]) =>
    entries.map(headerEntry).filter(({ lower }) => !connectionHeaders.has(lower));
  const { remove, rename, replace, add, append } = actions;
  return {
    remove: of(remove),
    rename: of(rename).filter(({ value }) => !connectionHeaders.has((value(noValues) ?? "").toLowerCase())),
    replace: of(replace),
    add: of(add),
    append: of(append),
  };
}

/** A scope without values, because new names of headers contain no expressions. */
const noValues: TemplateScope = () => undefined;

interface ChangedHeader {
  readonly name: string;
  readonly values: readonly string[];
  readonly edit: HeaderEdit | null;
}

export class ChangedHeaders {
  readonly #exchange: Exchange;
  readonly #changed = new Map<string, ChangedHeader>();

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** A header's values after the changes so far. Host has none until a change sets it, because the proxy chooses it. */
  values(lower: Lowercase<string>): readonly string[] {
    const changed = this.#changed.get(lower);
    if (changed !== undefined) return changed.values;
    return lower === "host" ? [] : this.#exchange.upstreamHeaderValues(lower);
  }

  transform({ remove, rename, replace, add, append }: HeaderActions, scope: TemplateScope): void {
    for (const { name, lower } of remove) if (this.#has(lower)) this.#change(lower, { name, values: [] });
    for (const { name, lower, value } of rename) this.#rename({ name, lower }, value(scope) ?? name);
    for (const entry of replace) {
      const value = entry.value(scope);
      if (value !== undefined && (this.#has(entry.lower) || entry.lower === "host")) this.#set(entry, value);
    }
    for (const entry of add) {
      const value = entry.value(scope);
      if (value !== undefined && !this.#has(entry.lower) && entry.lower !== "host") this.#set(entry, value);
    }
    for (const { name, lower, value: render } of append) {
      const value = render(scope);
      if (value !== undefined) this.#change(lower, { name, values: [...this.values(lower), value] });
    }
  }

  apply(): void {
    const { upstreamHeaders } = this.#exchange;
    for (const { name, values, edit } of this.#changed.values()) {
      if (edit !== null) upstreamHeaders.apply(edit);
      else {
        upstreamHeaders.remove(name);
        for (const [index, value] of values.entries()) {
          if (index === 0) upstreamHeaders.set(name, value);
          else upstreamHeaders.append(name, value);
        }
      }
    }
  }

  #has(lower: Lowercase<string>): boolean {
    return this.values(lower).length > 0;
  }

  #rename(from: Pick<HeaderEntry, "name" | "lower">, name: string): void {
    const lower = lowerCase(name);
    const values = this.values(from.lower);
    if (values.length === 0 || from.name === name) return;
    if (lower !== from.lower) this.#change(from.lower, { name: from.name, values: [] });
    this.#change(lower, { name, values });
  }

  #set({ name, lower, edit }: HeaderEntry, value: string): void {
    this.#changed.set(lower, { name, values: [value], edit });
  }

  #change(lower: string, { name, values }: Pick<ChangedHeader, "name" | "values">): void {
    this.#changed.set(lower, { name, values, edit: null });
  }
}
