/**
 * JSON objects whose members are changed as text: unchanged values keep their bytes, such as digits of numbers that
 * JavaScript would lose. Text is Latin-1: one character per byte.
 */
import { byteString } from "../templates/template.ts";
import { jsonMembers } from "./json-members.ts";

/** Unescaped names, and values as JSON. A map, because `__proto__` is a name like any other. */
export type RawJsonObject = Map<string, string>;

/** The members of a JSON object; null if the text is not one. Of several members with one name, the last is used. */
export function jsonObjectOf(text: string): RawJsonObject | null {
  const members = jsonMembers(text);
  return members && new Map(members.map(({ name, valueStart, end }) => [name, text.slice(valueStart, end)]));
}

/** The value as JSON, one character per byte. */
export const jsonOf = (value: string | number | boolean): string => byteString(JSON.stringify(value));

export const textOfJsonObject = (object: RawJsonObject): string =>
  `{${[...object].map(([name, value]) => `${jsonOf(name)}:${value}`).join(",")}}`;

/**
 * Appends a value (as JSON) to a member, which becomes a list. An earlier string, or the items of an earlier list, come
 * before the new value; an earlier number, boolean or null is dropped. Returns false if the member is an object, which
 * stays as it is.
 */
export function appendToMember(object: RawJsonObject, name: string, added: string): boolean {
  const before = object.get(name) ?? "";
  if (before.startsWith("{")) return false;
  if (before.startsWith("[")) {
    const items = before.slice(1, -1).trim();
    object.set(name, items === "" ? `[${added}]` : `[${items},${added}]`);
  } else object.set(name, before.startsWith('"') ? `[${before},${added}]` : `[${added}]`);
  return true;
}
