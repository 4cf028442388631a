import type { DeprecatedMember, Referable, TypedSchema } from "./member.ts";

/** A schema as plain keywords: the JSON Schema keywords in use, and Sluice's own. */
export interface SchemaNode {
  readonly type?: "string" | "integer" | "number" | "boolean" | "array" | "object";
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly enum?: readonly (string | number)[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  /** A schema for the values of arbitrary names; false: no other members. */
  readonly additionalProperties?: boolean | SchemaNode;
  /** The collection that the member refers to. */
  readonly reference?: Referable;
  /** With `reference`: the effect on the referring entity when the other entity is removed. */
  readonly onDelete?: "cascade" | "restrict";
  /** The name of a check with its own message. */
  readonly rule?: string;
  /** Former spellings of members of the record. */
  readonly deprecatedMembers?: readonly DeprecatedMember[];
  /** The value is sensitive: in a cluster it is kept in a Secret. */
  readonly secret?: true;
}

/** The keywords of a schema. */
export const schemaNode = (schema: TypedSchema): SchemaNode => schema as SchemaNode;
