/** The collections that entities may refer to. */
export type Referable =
  | "certificates"
  | "ca_certificates"
  | "upstreams"
  | "services"
  | "routes"
  | "consumers"
  | "consumer_groups";

/** A former spelling of a member. It is accepted in place of its replacement, and responses show both, as in Kong. */
export interface DeprecatedMember {
  readonly name: string;
  /** The path of the new member, relative to the record that had the former one: `["redis", "host"]`. */
  readonly replacedBy: readonly string[];
}

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
  /** The schema for the values of arbitrary names; false: there are no members besides `properties`. */
  readonly additionalProperties?: boolean | SchemaNode;
  readonly reference?: Referable;
  /** With `reference`: whether the removal of the other entity also removes the referring entity, or is rejected. */
  readonly onDelete?: "cascade" | "restrict";
  /** The name of a check with its own message. */
  readonly rule?: string;
  readonly deprecatedMembers?: readonly DeprecatedMember[];
  /** Names of members that Kong has and Sluice does not, with the message for each. */
  readonly unsupportedMembers?: Readonly<Record<string, string>>;
  /** The value is sensitive: in a cluster it is kept in a Secret. */
  readonly secret?: true;
  /**
   * In a plugin's config: the value may be a reference to a vault, `{vault://env/NAME}`, which the node replaces. Other
   * keywords and the plugin's check apply to the value from the vault; `rule` is not supported.
   */
  readonly referenceable?: true;
}

/** The schema of a record's member; undefined for other names, including inherited ones such as `constructor`. */
export const memberSchemaOf = (schema: SchemaNode, name: string): SchemaNode | undefined =>
  schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;

/** The schema of a mapping's values; undefined if the given schema is not that of a mapping. */
export const valuesOf = ({ additionalProperties }: SchemaNode): SchemaNode | undefined =>
  typeof additionalProperties === "object" ? additionalProperties : undefined;

/** Whether the value is a JSON object: neither null nor a list. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const withoutUnset = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
