/**
 * Building blocks for schemas, so that an entity reads as a table of its members. They build JSON Schema with Sluice's
 * own keywords, as plain data; the type of the values exists for the compiler only.
 *
 * Every member is always present in a stored value. A member that may be unset is `nullable`, and unset is `null`
 * (Kong's convention). A member with a `default` gets this value when the input lacks the member or has null.
 */

import type { DeprecatedMember, Referable, SchemaNode } from "./node.ts";

export interface TypedSchema<Value = unknown> extends SchemaNode {
  /** For the compiler; no schema has this member at run time. */
  readonly "~value"?: () => Value;
}

/** The type of the values that a schema describes. */
export type Static<Of extends TypedSchema> = Of extends TypedSchema<infer Value> ? Value : never;

/** A schema from keywords, for values whose type the caller knows. */
export const typedSchema = <Value>(keywords: SchemaNode): TypedSchema<Value> => keywords;

/** Options of a member beyond its JSON type. */
export interface MemberOptions {
  /** The description in `kubectl explain`, the reference pages and GET /schemas. */
  readonly description: string;
  readonly default?: unknown;
  /** The name of a check with its own message (crds/model/src/check/rules.ts). */
  readonly rule?: string;
  /** The value is sensitive: in a cluster it is kept in a Secret. */
  readonly secret?: true;
  /** In a plugin's config: the value may be a reference to a vault, `{vault://env/NAME}`. */
  readonly referenceable?: true;
}

type Limits<Keys extends string> = Partial<Record<Keys, number>>;

/** As in Kong, a string must not be empty unless `minLength: 0` is set. */
export const text = (options: MemberOptions & Limits<"minLength" | "maxLength">) =>
  typedSchema<string>({ type: "string", minLength: 1, ...options });

export const integer = (options: MemberOptions & Limits<"minimum" | "maximum" | "exclusiveMinimum">) =>
  typedSchema<number>({ type: "integer", ...options });

export const decimal = (options: MemberOptions & Limits<"minimum" | "maximum" | "exclusiveMinimum">) =>
  typedSchema<number>({ type: "number", ...options });

export const boolean = (options: MemberOptions) => typedSchema<boolean>({ type: "boolean", ...options });

/** One of a few fixed words (or numbers). */
export function choice<const Word extends string | number>(words: readonly Word[], options: MemberOptions) {
  return typedSchema<Word>({ type: typeof words[0] === "number" ? "integer" : "string", enum: [...words], ...options });
}

/** A list without duplicates ("set" in Kong's schema language). */
export const set = <Item extends TypedSchema>(items: Item, options: MemberOptions & Limits<"minItems" | "maxItems">) =>
  typedSchema<Static<Item>[]>({ type: "array", items, uniqueItems: true, ...options });

export const array = <Item extends TypedSchema>(
  items: Item,
  options: MemberOptions & Limits<"minItems" | "maxItems">,
) => typedSchema<Static<Item>[]>({ type: "array", items, ...options });

/** In a record that is the value of a mapping, members that would be null are absent. */
type MappedValue<Value> = Value extends readonly unknown[] ? Value : Partial<Value>;

/** A mapping from arbitrary names to values, such as `headers`. */
export function mapping<Value extends TypedSchema>(
  values: Value,
  options: MemberOptions & Limits<"maxProperties"> & { readonly keyRule?: string },
) {
  return typedSchema<Record<string, MappedValue<Static<Value>>>>({
    type: "object",
    additionalProperties: values,
    ...options,
  });
}

type Members = Readonly<Record<string, TypedSchema>>;

export interface RecordSchema<Of extends Members = Members>
  extends TypedSchema<{ -readonly [Name in keyof Of]: Static<Of[Name]> }> {
  readonly properties: Of;
}

/** A fixed set of members; an unknown member is a violation. Members without a default are required. */
export const record = <Of extends Members>(
  members: Of,
  options: {
    readonly description: string;
    readonly default?: unknown;
    readonly rule?: string;
    readonly deprecatedMembers?: readonly DeprecatedMember[];
    readonly unsupportedMembers?: Readonly<Record<string, string>>;
  },
): RecordSchema<Of> => ({
  type: "object",
  required: Object.keys(members).filter((name) => members[name]?.default === undefined),
  properties: members,
  additionalProperties: false,
  ...options,
});

/** The member may be unset; unset is `null`. */
export function nullable<Of extends TypedSchema>(inner: Of) {
  return typedSchema<Static<Of> | null>({ default: null, ...inner, nullable: true });
}

/** A reference to another entity by its id; in input also by its unique name. */
const referenceTo = (kind: Referable, description: string, onDelete: "cascade" | "restrict") =>
  typedSchema<{ id: string }>({
    type: "object",
    properties: { id: { type: "string", rule: "uuid", description: `The id of the ${kind.slice(0, -1)}.` } },
    required: ["id"],
    additionalProperties: false,
    reference: kind,
    onDelete,
    description,
  });

/**
 * A reference that may be unset.
 *
 * @param onDelete The effect of removing the other entity: the referring entity is removed too (`cascade`), or the
 * removal is rejected (`restrict`). Default `cascade`.
 */
export const reference = (kind: Referable, description: string, onDelete: "cascade" | "restrict" = "cascade") =>
  nullable(referenceTo(kind, description, onDelete));

/** The required reference of an entity to its parent. When the parent is removed, the entity is removed too. */
export const owner = (kind: Referable, description: string) => referenceTo(kind, description, "cascade");
