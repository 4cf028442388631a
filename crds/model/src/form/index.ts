/** Form bodies of the admin API as plain data for `checkEntity`. */

import { type Checked, isRecord, memberSchemaOf, type SchemaNode, valuesOf } from "@sluice/plugin-sdk";
import { schemaNodeAt } from "../check/deprecated.ts";
import { type Collection, entities } from "../entities/index.ts";
import { configFactsOf } from "../plugins/index.ts";
import { type Argument, argumentsOf, nestArguments } from "./tree.ts";

/** The names and contents of the parts of a multipart/form-data body. */
export type FormParts = readonly { readonly name: string; readonly text: string }[];

/**
 * Decodes an application/x-www-form-urlencoded body, or the parts of multipart data, into an unchecked entity. Strings
 * are coerced by the collection's schema, and the config of a plugin or a credential by the schema that the named
 * plugin declares.
 *
 * `before` is the entity that a form changes; it names the plugin if the form does not.
 */
export function decodeForm(
  body: string | FormParts,
  collection: Collection,
  { before }: { readonly before?: object } = {},
): Checked<Readonly<Record<string, unknown>>> {
  const given: Iterable<Argument> =
    typeof body === "string" ? argumentsOf(body) : body.map((part) => ({ ...part, written: part.name }));
  const form = nestArguments(given);
  if (form.violations !== undefined) return form;
  const entity = coerceFormValue(withShorthands(collection), form.value) as Readonly<Record<string, unknown>>;
  if (!isRecord(entity.config)) return { value: entity };
  const config = configSchema(collection, { ...before, ...entity });
  return { value: config === undefined ? entity : { ...entity, config: coerceFormValue(config, entity.config) } };
}

/**
 * Members that are accepted but not stored. With their schemas, an empty `url` becomes null, and a single server name
 * becomes a list.
 */
const shorthands: Partial<Record<Collection, Readonly<Record<string, SchemaNode>>>> = {
  services: { url: { type: "string" } },
  certificates: { snis: { type: "array", items: { type: "string" } } },
};

function withShorthands(collection: Collection): SchemaNode {
  const schema = entities[collection].schema;
  return { ...schema, properties: { ...schema.properties, ...shorthands[collection] } };
}

/**
 * The schema of the config, including the deprecated members that `checkConfig` accepts. Undefined if the collection
 * has no configs, or if this process lacks the plugin.
 */
function configSchema(collection: Collection, entity: object): SchemaNode | undefined {
  const schema = configFactsOf(collection, entity)?.schema;
  if (schema === undefined) return undefined;
  const deprecated = (schema.deprecatedMembers ?? []).map(({ name, replacedBy }) => [
    name,
    schemaNodeAt(schema, replacedBy),
  ]);
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(deprecated) } };
}

const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/**
 * Coerces the strings of a form to the types of a schema. As in Kong, values of JSON bodies are never coerced.
 *
 * "5" -> 5, "true" and "false" -> booleans, "" -> null, a single string for a list -> a list of one. Values that do not
 * fit and unknown members stay unchanged, for validation to report.
 */
export function coerceFormValue(schema: SchemaNode, value: unknown): unknown {
  if (value === "") return null;
  const values = valuesOf(schema);
  if (schema.type === "array") return coerceList(schema.items ?? {}, value);
  if (isRecord(value) && values !== undefined) return mapMembers(value, () => values);
  if (isRecord(value)) return mapMembers(value, (name) => memberSchemaOf(schema, name));
  return typeof value === "string" ? coerceText(schema.type, value) : value;
}

const coerceList = (items: SchemaNode, value: unknown): unknown =>
  (Array.isArray(value) ? value : [value]).map((item) => coerceFormValue(items, item));

function coerceText(type: SchemaNode["type"], text: string): unknown {
  if (type === "integer" || type === "number") return NUMBER.test(text) ? Number(text) : text;
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

const mapMembers = (value: Readonly<Record<string, unknown>>, schemaOf: (name: string) => SchemaNode | undefined) =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const schema = schemaOf(name);
      return [name, schema === undefined ? member : coerceFormValue(schema, member)];
    }),
  );
