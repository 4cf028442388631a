/**
 * Builds a new value with every member of its schema; unset members get their default or null.
 *
 * Values of the wrong type stay unchanged, for the validator to report. Members that the schema does not have are never
 * copied, so that a member called `__proto__` cannot set a prototype; they are reported here, except in references.
 */
import { isRecord, memberSchemaOf, type SchemaNode, type Violation, valuesOf, withoutUnset } from "@sluice/plugin-sdk";

export interface FilledValue {
  readonly value: unknown;
  readonly unknown: readonly Violation[];
}

export function fillDefaults(schema: SchemaNode, raw: unknown): FilledValue {
  const unknown: Violation[] = [];
  return { value: fillAt(schema, raw, { path: [], unknown }), unknown };
}

interface Progress {
  /** The path of the current value. It is changed in place, because a new array for each member would cost too much. */
  readonly path: (string | number)[];
  readonly unknown: Violation[];
}

function fillMember(schema: SchemaNode, raw: unknown, name: string | number, progress: Progress): unknown {
  progress.path.push(name);
  const value = fillAt(schema, raw, progress);
  progress.path.pop();
  return value;
}

function fillAt(schema: SchemaNode, raw: unknown, progress: Progress): unknown {
  const value = raw ?? copyOf(schema.default) ?? null;
  if (schema.reference !== undefined) return fillReference(value);
  if (schema.properties !== undefined) return fillRecord(schema, value, progress);
  if (schema.type === "array") return fillList(schema, value, progress);
  const values = valuesOf(schema);
  if (values !== undefined && isRecord(value)) {
    return fromEntries(Object.entries(value), (name, item) => {
      const filled = fillMember(values, item, name, progress);
      // Unset members are omitted: decK adds no defaults here, and would report a null that its file lacks.
      return isRecord(filled) ? withoutUnset(filled) : filled;
    });
  }
  // In lower case, because all other code compares UUIDs as strings.
  return schema.rule === "uuid" && typeof value === "string" ? value.toLowerCase() : value;
}

function fillRecord(schema: SchemaNode, value: unknown, progress: Progress): unknown {
  if (!isRecord(value)) return value;
  for (const name of Object.keys(value)) {
    if (memberSchemaOf(schema, name) === undefined)
      progress.unknown.push({ path: [...progress.path, name], message: refusalOf(schema, name) });
  }
  return fromEntries(Object.entries(schema.properties ?? {}), (name, member) => {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    return fillMember(member, given, name, progress);
  });
}

function refusalOf({ unsupportedMembers = {} }: SchemaNode, name: string): string {
  const message = Object.hasOwn(unsupportedMembers, name) ? unsupportedMembers[name] : undefined;
  return message ?? "unknown field";
}

function fillList(schema: SchemaNode, value: unknown, progress: Progress): unknown {
  const { items } = schema;
  if (!Array.isArray(value) || items === undefined) return value;
  const filled = Array.from(value, (item, index) => fillMember(items, item, index, progress));
  // As in Kong, duplicates in a set are removed and are not a violation.
  return schema.uniqueItems === true ? [...new Set(filled)] : filled;
}

/** A copy of a default. Most defaults are primitive, and structuredClone would take longer than all other filling. */
const copyOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? structuredClone(value) : value;

/** A reference with its id only, in lower case: as in Kong, all other members are ignored. */
function fillReference(value: unknown): unknown {
  if (!isRecord(value) || !Object.hasOwn(value, "id")) return isRecord(value) ? {} : value;
  return { id: typeof value.id === "string" ? value.id.toLowerCase() : value.id };
}

/** `Object.fromEntries` defines members instead of assigning them: a name like `__proto__` stays a plain member. */
const fromEntries = <Value>(entries: readonly [string, Value][], map: (name: string, value: Value) => unknown) =>
  Object.fromEntries(entries.map(([name, value]) => [name, map(name, value)]));
