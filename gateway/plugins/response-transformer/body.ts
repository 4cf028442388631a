/** Changes of the members of a JSON object. */
import {
  appendToMember,
  jsonObjectOf,
  jsonOf,
  namedValueOf,
  type RawJsonObject,
  textOfJsonObject,
} from "@sluice/plugin-sdk";
import type { ResponseTransformerConfig } from "./schema.ts";

interface NewValue {
  readonly name: string;
  /** As JSON. */
  readonly value: string;
}

type ValueLists = Pick<ResponseTransformerConfig["add"], "json" | "json_types">;

export class JsonChanges {
  readonly #removed: readonly string[];
  readonly #renamed: readonly { readonly name: string; readonly to: string }[];
  readonly #replaced: readonly NewValue[];
  readonly #added: readonly NewValue[];
  readonly #appended: readonly NewValue[];

  constructor({ remove, rename, replace, add, append }: ResponseTransformerConfig) {
    this.#removed = remove.json.map((entry) => namedValueOf(entry).name);
    this.#renamed = rename.json
      .map(namedValueOf)
      .filter(({ name, value }) => value !== "" && value !== name)
      .map(({ name, value }) => ({ name, to: value }));
    this.#replaced = valuesOf(replace);
    this.#added = valuesOf(add);
    this.#appended = valuesOf(append);
  }

  get isEmpty(): boolean {
    const all = [this.#removed, this.#renamed, this.#replaced, this.#added, this.#appended];
    return all.every(({ length }) => length === 0);
  }

  /** The changed body; the same buffer if it stays as it is, or is not a JSON object. */
  apply(body: Buffer): Buffer {
    const object = jsonObjectOf(body.toString("latin1"));
    return object === null || !this.#change(object) ? body : Buffer.from(textOfJsonObject(object), "latin1");
  }

  /** Changes the object. Returns whether a member changed. */
  #change(object: RawJsonObject): boolean {
    let changed = false;
    const set = (name: string, value: string) => {
      object.set(name, value);
      changed = true;
    };
    for (const name of this.#removed) if (object.delete(name)) changed = true;
    for (const { name, to } of this.#renamed) {
      const value = object.get(name);
      if (value === undefined) continue;
      object.delete(name);
      set(to, value);
    }
    for (const { name, value } of this.#replaced) if (isTrue(object.get(name))) set(name, value);
    for (const { name, value } of this.#added) if (!isTrue(object.get(name))) set(name, value);
    for (const { name, value } of this.#appended) if (appendToMember(object, name, value)) changed = true;
    return changed;
  }
}

/** As in Kong (Lua), a member with the value `false` counts as absent, but a member with the value `null` does not. */
const isTrue = (value: string | undefined): boolean => value !== undefined && value !== "false";

/**
 * The names and values of entries. As in Kong, an entry without a value has the text `null` instead, and an entry of
 * the type number has no effect if its value is not a number.
 */
function valuesOf({ json, json_types: types }: ValueLists): readonly NewValue[] {
  return json.flatMap((entry, index) => {
    const { name, value: given } = namedValueOf(entry);
    const text = given === "" ? "null" : given;
    const type = types[index] ?? "string";
    if (type === "boolean") return { name, value: jsonOf(text === "true") };
    if (type === "string") return { name, value: jsonOf(text) };
    const number = NUMBER.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(number) ? { name, value: jsonOf(number) } : [];
  });
}

const NUMBER = /^\s*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[\da-f]+)\s*$/i;
