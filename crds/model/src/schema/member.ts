/**
 * Building blocks for schemas: thin names over TypeBox, so that an entity reads as a table of its members.
 *
 * Every member is always present in a filled value. A member that may be unset is `nullable` and unset is `null`
 * (Kong's convention); a member with a `default` gets it when it is missing or null on the way in.
 */
import Type, { type Static, type TSchema } from "typebox";

/** What a schema may say about a member beyond its JSON type. */
export interface MemberOptions {
  /** The sentence that users read in `kubectl explain`, the reference pages and GET /schemas. */
  readonly description: string;
  readonly default?: unknown;
  /** A check with a sentence of its own, from the table in check/rules.ts. */
  readonly rule?: string;
  /** Nobody but who may read Secrets may see the value: in a cluster it is kept in one. */
  readonly secret?: true;
}

type Limits<Keys extends string> = Partial<Record<Keys, number>>;

/** As in Kong, a text is not empty unless `minLength: 0` says that it may be. */
export const text = (options: MemberOptions & Limits<"minLength" | "maxLength">) =>
  Type.String({ minLength: 1, ...options });

export const integer = (options: MemberOptions & Limits<"minimum" | "maximum">) => Type.Integer({ ...options });

export const decimal = (options: MemberOptions & Limits<"minimum" | "maximum" | "exclusiveMinimum">) =>
  Type.Number({ ...options });

export const flag = (options: MemberOptions) => Type.Boolean({ ...options });

/** One of a few fixed words (or numbers). */
export function choice<const Word extends string | number>(words: readonly Word[], options: MemberOptions) {
  return Type.Unsafe<Word>({ type: typeof words[0] === "number" ? "integer" : "string", enum: [...words], ...options });
}

/** A list in which no item stands twice ("set" in Kong's schema language). */
export const set = <Item extends TSchema>(items: Item, options: MemberOptions & Limits<"minItems" | "maxItems">) =>
  Type.Array(items, { uniqueItems: true, ...options });

export const list = <Item extends TSchema>(items: Item, options: MemberOptions & Limits<"minItems" | "maxItems">) =>
  Type.Array(items, { ...options });

/** Free names to values, such as `headers`. */
export function mapping<Value extends TSchema>(
  values: Value,
  options: MemberOptions & Limits<"maxProperties"> & { readonly keyRule?: string },
) {
  return Type.Unsafe<Record<string, Static<Value>>>({ type: "object", additionalProperties: values, ...options });
}

/** A fixed set of members; an unknown one is a violation. */
export const record = <Members extends Record<string, TSchema>>(
  members: Members,
  options: { readonly description: string; readonly default?: unknown; readonly rule?: string },
) => Type.Object(members, { additionalProperties: false, ...options });

/** The member may be unset; unset is `null`. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ default: null, ...schema, nullable: true } as object);
}

/** The collections that entities may refer to. */
export type Referable = "certificates" | "upstreams" | "services" | "routes" | "consumers";

/**
 * A reference to another entity by its id; on the way in also by its unique name.
 *
 * @param onDelete what happens to the holder when the other entity is to be removed: it goes along (`cascade`), or it
 * forbids the removal (`restrict`). Default `cascade`.
 */
export function reference(kind: Referable, description: string, onDelete: "cascade" | "restrict" = "cascade") {
  return Type.Unsafe<{ id: string } | null>({
    type: "object",
    properties: { id: { type: "string", rule: "uuid", description: `The id of the ${kind.slice(0, -1)}.` } },
    required: ["id"],
    additionalProperties: false,
    nullable: true,
    default: null,
    reference: kind,
    onDelete,
    description,
  });
}
