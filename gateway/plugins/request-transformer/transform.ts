/** The actions on named members, in the order in which they apply: the same for queries, forms and JSON objects. */
import type { TemplateScope } from "@sluice/plugin-sdk";
import { type Entry, entriesOf } from "./entries.ts";
import type { RequestTransformerConfig } from "./schema.ts";

export interface Actions {
  readonly remove: readonly Entry[];
  readonly rename: readonly Entry[];
  readonly replace: readonly Entry[];
  readonly add: readonly Entry[];
  readonly append: readonly Entry[];
}

/** Members that the actions change. `name` is as in the config; `to` and `value` are byte strings. */
export interface NamedMembers {
  has(name: string): boolean;
  remove(name: string): void;
  /** Called for a member that exists. */
  rename(name: string, to: string): void;
  /** Replaces all values of the member, or adds the member. */
  set(name: string, value: string): void;
  append(name: string, value: string): void;
}

export type ListName = "body" | "headers" | "querystring";

/** The actions on the body, the headers or the query; null: the config has none. */
export function actionsOf(config: RequestTransformerConfig, list: ListName): Actions | null {
  const { remove, rename, replace, add, append } = config;
  const actions = {
    remove: entriesOf(remove[list]),
    rename: entriesOf(rename[list]),
    replace: entriesOf(replace[list]),
    add: entriesOf(add[list]),
    append: entriesOf(append[list]),
  };
  return Object.values(actions).some((entries) => entries.length > 0) ? actions : null;
}

/**
 * Applies the actions. Every template is rendered, even if its member does not exist, as in Kong.
 *
 * @param isEmpty Whether there is no body at all: in that case only `add` and `append` apply
 */
export function transformMembers(members: NamedMembers, actions: Actions, scope: TemplateScope, isEmpty = false): void {
  if (!isEmpty) {
    for (const { name } of actions.remove) members.remove(name);
    for (const { name, template } of actions.rename) {
      const to = template?.render(scope) ?? "";
      if (name !== to && members.has(name)) members.rename(name, to);
    }
    for (const { name, template } of actions.replace) {
      const value = template?.render(scope);
      if (value !== undefined && members.has(name)) members.set(name, value);
    }
  }
  for (const { name, template } of actions.add) {
    const value = template?.render(scope);
    if (value !== undefined && !members.has(name)) members.set(name, value);
  }
  for (const { name, template } of actions.append) {
    const value = template?.render(scope);
    if (value !== undefined) members.append(name, value);
  }
}
