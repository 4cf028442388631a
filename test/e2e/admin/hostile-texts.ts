/** Texts that are syntax in stores or output formats, and the members of entities that can hold a text. */
import { type Collection, entities, pluginNamed, type SchemaNode } from "@sluice/model";

export const sql = "x'); DROP TABLE services; DELETE FROM consumers WHERE ('1'='1' --";

/** Texts with a special meaning in SQL, YAML, JSON, HTML or file paths, or as member names. */
export const hostileTexts: readonly string[] = [
  sql,
  "' OR '1'='1",
  '"; DROP SCHEMA public CASCADE; --',
  "$1",
  "$$ || (SELECT version()) || $$",
  "\\'",
  "\\",
  "%00",
  "null",
  "true",
  "yes",
  "~",
  "1e3",
  "0x10",
  "2001-01-01",
  "- a",
  "a: b",
  "# a",
  "&a",
  "*a",
  "!!int 1",
  "<<",
  "{{ a }}",
  "[a]",
  "---",
  "...",
  " a ",
  "a\nb: c\n",
  "a\r\nb",
  "tab\there",
  "\u0001\u007f\u0085",
  "\u2028\u2029\ufeff",
  "\u{1f600}e\u0301",
  "<script>",
  "../../etc/passwd",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
];

/** The path to a string in an entity: member names, and `[]` for an element of a list. */
export type TextPath = readonly string[];

/**
 * The paths of all strings that are not enums, and of the ids in references, in the schema's order. In a record with
 * arbitrary member names, the path contains the name `free`.
 */
export function textPlaces(node: SchemaNode, path: TextPath = []): readonly TextPath[] {
  const { type, enum: choices, reference, items, properties = {}, additionalProperties: free } = node;
  if (reference !== undefined) return [[...path, "id"]];
  if (type === "string" && choices === undefined) return [path];
  if (items) return textPlaces(items, [...path, "[]"]);
  const named = Object.entries(properties).flatMap(([member, inner]) => textPlaces(inner, [...path, member]));
  return typeof free === "object" ? [...named, ...textPlaces(free, [...path, "free"])] : named;
}

export const textPathsOf = (collection: Collection): readonly TextPath[] => textPlaces(entities[collection].schema);

export const placesOfConfig = (name: string): readonly TextPath[] =>
  textPlaces(pluginNamed(name)?.schema ?? {}, ["config"]);

/** A body that contains only the text, at the path. */
export const bodyWith = ([first, ...rest]: TextPath, text: string): unknown => {
  if (first === undefined) return text;
  const inner = bodyWith(rest, text);
  return first === "[]" ? [inner] : { [first]: inner };
};

/** The entity's value at the path. */
export const valueAtPath = (value: unknown, place: TextPath): unknown =>
  place.reduce((at: unknown, member) => Object(at)[member === "[]" ? 0 : member], value);
