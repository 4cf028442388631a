/** Members in Kong's schema language, as GET /schemas shows them. */
import type { SchemaNode } from "@sluice/model";

/** The schema of one member. Clients fill in `default`s and look into `fields`, `elements` and `values`. */
export type KongField = Readonly<Record<string, unknown>>;

/** One-member records in the order of the members. */
export type KongFields = readonly Readonly<Record<string, KongField>>[];

export function fieldOf(node: SchemaNode): KongField {
  const { description, nullable = false, enum: words, rule } = node;
  const value = defaultOf(node);
  return {
    ...typeOf(node),
    ...(description !== undefined && { description }),
    ...(!nullable && { required: true }),
    ...(value !== undefined && { default: value }),
    ...(words && { one_of: words }),
    ...(rule === "uuid" && { uuid: true }),
    ...bounds(node),
  };
}

export const kongFieldsOf = ({ properties = {} }: SchemaNode): KongFields =>
  Object.entries(properties).map(([name, member]) => ({ [name]: fieldOf(member) }));

/** A record has no default of its own: its members have them. */
const defaultOf = ({ default: value, type }: SchemaNode): unknown =>
  value === null || type === "object" ? undefined : value;

function typeOf(node: SchemaNode): KongField {
  const { type, items, reference, onDelete, uniqueItems = false, additionalProperties } = node;
  if (reference) return { type: "foreign", reference, ...(onDelete === "cascade" && { on_delete: "cascade" }) };
  if (type === "array" && items) return { type: uniqueItems ? "set" : "array", elements: elementOf(items) };
  if (type !== "object") return { type };
  if (typeof additionalProperties !== "object") return { type: "record", fields: kongFieldsOf(node) };
  return { type: "map", keys: { type: "string" }, values: elementOf(additionalProperties) };
}

/** Without `required`: items of a list are never unset. */
function elementOf(node: SchemaNode): KongField {
  const { required: _required, ...element } = fieldOf(node);
  return element;
}

function bounds(node: SchemaNode): KongField {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } = node;
  // Kong's strings are non-empty unless the schema allows it.
  const [least, most] = [minLength === 1 ? minItems : (minLength ?? minItems), maxLength ?? maxItems];
  return {
    ...(minimum !== undefined && maximum !== undefined && { between: [minimum, maximum] }),
    ...(exclusiveMinimum !== undefined && { gt: exclusiveMinimum }),
    ...(least !== undefined && { len_min: least }),
    ...(most !== undefined && { len_max: most }),
  };
}
