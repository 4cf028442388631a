/** Coerces the strings of a form to the types of a schema. Like Kong, JSON is never coerced. */
import { isRecord, memberSchemaOf, type SchemaNode, valuesOf } from "../schema/node.ts";

const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/**
 * "5" -> 5, "true" and "false" -> booleans, "" -> null, a single string for a list -> a list of one. Values that do not
 * fit and unknown members stay unchanged, for validation to report.
 */
export function coerce(schema: SchemaNode, value: unknown): unknown {
  if (value === "") return null;
  const values = valuesOf(schema);
  if (schema.type === "array") return coerceList(schema.items ?? {}, value);
  if (isRecord(value) && values !== undefined) return mapMembers(value, () => values);
  if (isRecord(value)) return mapMembers(value, (name) => memberSchemaOf(schema, name));
  return typeof value === "string" ? coerceText(schema.type, value) : value;
}

const coerceList = (items: SchemaNode, value: unknown): unknown =>
  (Array.isArray(value) ? value : [value]).map((item) => coerce(items, item));

function coerceText(type: SchemaNode["type"], text: string): unknown {
  if (type === "integer" || type === "number") return NUMBER.test(text) ? Number(text) : text;
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

const mapMembers = (value: Readonly<Record<string, unknown>>, schemaOf: (name: string) => SchemaNode | undefined) =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const schema = schemaOf(name);
      return [name, schema === undefined ? member : coerce(schema, member)];
    }),
  );
