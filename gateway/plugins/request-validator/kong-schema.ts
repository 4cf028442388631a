/**
 * Turns a body schema of version `kong`, a list of fields such as `[{"name": {"type": "string", "required": true}}]`,
 * into a JSON Schema. The supported attributes are those in Kong's documentation of request-validator. They have the
 * defaults of Kong's own schemas.
 */
import { type Checked, isRecord } from "@sluice/plugin-sdk";
import type { SchemaObject } from "./json-schema/keywords.ts";

type Translate = (value: unknown, at: string, faults: string[]) => SchemaObject;

const types: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "integer",
  boolean: "boolean",
  map: "object",
  record: "object",
  array: "array",
  set: "array",
};

/** The suffix of the keywords for a length (minLength, maxItems), by JSON type. */
const lengths: Readonly<Record<string, string>> = { string: "Length", array: "Items", object: "Properties" };

const luaPatterns = ["match", "not_match", "match_all", "match_none", "match_any"];

const LUA_PATTERN = "is a Lua pattern, which is not supported: use `pattern` of a JSON Schema (version draft4)";

/** Attributes that become keywords of the same meaning. The check of the JSON Schema reports invalid values. */
const attributes: Readonly<Record<string, Translate>> = {
  between: (value) => (Array.isArray(value) ? { minimum: value[0], maximum: value[1] } : { minimum: value }),
  gt: (value) => ({ exclusiveMinimum: value }),
  one_of: (value) => ({ enum: value }),
  not_one_of: (value) => ({ not: { enum: value } }),
  starts_with: (value) => ({ pattern: `^${String(value).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}` }),
  timestamp: (value) => (value === true ? { exclusiveMinimum: 0 } : {}),
  uuid: (value) => (value === true ? { format: "uuid" } : {}),
  format: (value, at, faults) => {
    if (["date", "date-time", "time"].includes(String(value))) return { format: value };
    faults.push(`${at} must be one of: date, date-time, time`);
    return {};
  },
  elements: (value, at, faults) => ({ items: fieldSchema(value, at, faults, true) }),
  keys: (value, at, faults) => ({ propertyNames: fieldSchema(value, at, faults, true) }),
  values: (value, at, faults) => ({ additionalProperties: fieldSchema(value, at, faults, true) }),
  fields: (value, at, faults) => recordSchema(value, at, faults),
};

/** Attributes that a type needs. */
const needed: Readonly<Record<string, readonly string[]>> = {
  map: ["keys", "values"],
  record: ["fields"],
  array: ["elements"],
  set: ["elements"],
};

function lengthKeywords(definition: SchemaObject, type: string): SchemaObject {
  const { len_eq: equal, len_min: least = equal, len_max: most = equal } = definition;
  const word = lengths[type];
  // As in Kong, a string must not be empty unless its schema sets `len_min` or `len_eq`.
  const minimum = least ?? (type === "string" ? 1 : undefined);
  return {
    ...(minimum !== undefined && { [`min${word}`]: minimum }),
    ...(most !== undefined && { [`max${word}`]: most }),
  };
}

function fieldSchema(definition: unknown, at: string, faults: string[], isRequired: boolean): SchemaObject {
  const known = isRecord(definition) ? definition : {};
  const kind = String(known.type);
  const type = Object.hasOwn(types, kind) ? types[kind] : undefined;
  if (type === undefined) {
    faults.push(`${at}/type must be one of: ${Object.keys(types).join(", ")}`);
    return {};
  }
  const lacking = (needed[kind] ?? []).filter((name) => known[name] === undefined);
  for (const name of lacking) faults.push(`${at}/${name} is missing`);
  const schema: Record<string, unknown> = { type: isRequired ? type : [type, "null"] };
  for (const [name, value] of Object.entries(known)) {
    const translate = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (translate !== undefined) Object.assign(schema, translate(value, `${at}/${name}`, faults));
    else if (luaPatterns.includes(name)) faults.push(`${at}/${name} ${LUA_PATTERN}`);
    else if (!["type", "required", "len_eq", "len_min", "len_max"].includes(name)) {
      faults.push(`${at}/${name} is not supported`);
    }
  }
  if (!isRequired && Array.isArray(schema.enum)) schema.enum = [...schema.enum, null];
  return {
    ...schema,
    ...(lengths[type] !== undefined && lengthKeywords(known, type)),
    ...(kind === "set" && { uniqueItems: true }),
  };
}

function recordSchema(fields: unknown, at: string, faults: string[]): SchemaObject {
  if (!Array.isArray(fields)) {
    faults.push(`${at || "the schema"} must be a list of fields`);
    return {};
  }
  const properties: Record<string, SchemaObject> = Object.create(null);
  const required: string[] = [];
  for (const [index, field] of fields.entries()) {
    const [entry, ...others] = isRecord(field) ? Object.entries(field) : [];
    if (entry === undefined || others.length > 0) {
      faults.push(`${at}/${index} must be an object with one field`);
      continue;
    }
    const [name, definition] = entry;
    const isRequired = isRecord(definition) && definition.required === true;
    properties[name] = fieldSchema(definition, `${at}/${index}/${name}`, faults, isRequired);
    if (isRequired) required.push(name);
  }
  return { properties, required, additionalProperties: false };
}

/** The JSON Schema (draft 7) as text. Violations have empty paths. */
export function jsonSchemaOfKong(text: string): Checked<string> {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch (error) {
    return { violations: [{ path: [], message: `is not JSON: ${error instanceof Error ? error.message : error}` }] };
  }
  const faults: string[] = [];
  const schema = { type: "object", ...recordSchema(fields, "", faults) };
  if (faults.length === 0) return { value: JSON.stringify(schema) };
  return { violations: faults.map((fault) => ({ path: [], message: `is not a valid schema: ${fault}` })) };
}
