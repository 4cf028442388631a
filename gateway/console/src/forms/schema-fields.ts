/** Schemas in Kong's format, as `GET /schemas/{collection}` answers them. */
import { read } from "../api/client.ts";

export interface SchemaField {
  readonly type: "string" | "integer" | "number" | "boolean" | "array" | "set" | "map" | "record" | "foreign";
  readonly description?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly one_of?: readonly (string | number)[];
  /** The items of an array or a set. */
  readonly elements?: SchemaField;
  /** The values of a map. */
  readonly values?: SchemaField;
  /** The members of a record. */
  readonly fields?: SchemaFields;
  /** The collection of a foreign field. */
  readonly reference?: string;
  readonly between?: readonly [number, number];
  readonly gt?: number;
  readonly len_max?: number;
  /** The value is secret. */
  readonly encrypted?: boolean;
  /** The admin API generates a value if there is none. */
  readonly auto?: boolean;
  /** The only allowed value. */
  readonly eq?: unknown;
}

type SchemaFields = readonly Readonly<Record<string, SchemaField>>[];

export interface NamedField {
  readonly name: string;
  readonly field: SchemaField;
}

interface SchemaBody {
  readonly fields: SchemaFields;
}

export const namedFields = (fields: SchemaFields = []): readonly NamedField[] =>
  fields.flatMap((one) => Object.entries(one).map(([name, field]) => ({ name, field })));

/** Members that the admin API sets. */
const derived: ReadonlySet<string> = new Set(["id", "created_at", "updated_at"]);

/** The member that selects the schema of `config`, by collection. Other collections have one schema for all entities. */
const kindMembers: Readonly<Record<string, string>> = {
  plugins: "name",
  vaults: "name",
  plugin_credentials: "plugin",
};

export const kindMemberOf = (collection: string): string | undefined => kindMembers[collection];

/** The kinds among which the form of a new entity lets the user choose. */
export async function loadKinds(collection: string, signal: AbortSignal): Promise<readonly string[]> {
  if (collection === "vaults") return ["env"];
  if (collection === "plugins")
    return (await read<{ readonly enabled_plugins: readonly string[] }>("plugins/enabled", signal)).enabled_plugins;
  const { fields } = await read<SchemaBody>(`schemas/${collection}`, signal);
  const own = namedFields(fields).find(({ name }) => name === kindMemberOf(collection));
  return (own?.field.one_of ?? []).map(String);
}

/**
 * The fields of a form.
 *
 * @param kind The plugin, or the kind of the vault.
 */
export async function loadFields(
  collection: string,
  kind: string | undefined,
  signal?: AbortSignal,
): Promise<readonly NamedField[]> {
  const body = await read<SchemaBody>(`schemas/${collection}`, signal);
  const own = namedFields(body.fields).filter((one) => !derived.has(one.name));
  if (kind === undefined) return own;
  const special = await read<SchemaBody>(`schemas/${collection}/${encodeURIComponent(kind)}`, signal);
  const replaced = new Map(namedFields(special.fields).map((one) => [one.name, one.field]));
  return (
    own
      .map((one) => ({ ...one, field: replaced.get(one.name) ?? one.field }))
      // If a plugin refuses a target, such as a consumer, only null is allowed, and the form has no input for it.
      .filter(({ field }) => !(field.type === "foreign" && "eq" in field))
  );
}

/** The value of a new entity: the default, which the form shows. */
export function initialValue(field: SchemaField): unknown {
  if (field.default !== undefined) return field.default;
  if (field.type !== "record" || !field.required) return null;
  return initialRecord(namedFields(field.fields));
}

export const initialRecord = (fields: readonly NamedField[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.map(({ name, field }) => [name, initialValue(field)]));

/**
 * Whether a field is shown at once instead of among the other fields: it must be filled in, or it has a value that is
 * not the default.
 */
export const isProminent = ({ field }: NamedField, value: unknown): boolean =>
  (field.required === true && field.default === undefined && field.type !== "record") ||
  !isSame(value ?? null, initialValue(field));

export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

/** JSON with sorted members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? "null";
