/**
 * References to vaults in configs of plugins. `{vault://env/NAME}` stands for the value of the node's environment variable
 * NAME, which only the node reads. The forms are Kong's (docs/reference/kong-compatibility.md#references-to-vaults).
 */
import { type Checked, isRecord, memberSchemaOf, type SchemaNode, type Violation, valuesOf } from "@sluice/plugin-sdk";

export interface VaultReference {
  /** Where the reference is in the config. */
  readonly path: Violation["path"];
  readonly text: string;
  /** The member that has the reference as its value. */
  readonly schema: SchemaNode;
}

/** The text that a reference names. */
export interface EnvironmentValue {
  readonly variable: string;
  /** The member of the JSON object in the variable; null: the whole variable. */
  readonly key: string | null;
}

/** Kong's test: such a text is a reference even if it is malformed. */
export const isVaultReference = (value: unknown): value is string =>
  typeof value === "string" && value.startsWith("{vault://") && value.endsWith("}");

/**
 * Replaces the references in members that may have one (`referenceable`). Without references the result is the value
 * itself.
 */
export function replaceReferences(
  schema: SchemaNode,
  value: unknown,
  replace: (reference: VaultReference) => string,
  path: Violation["path"] = [],
): unknown {
  if (schema.referenceable && isVaultReference(value)) return replace({ path, text: value, schema });
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    const replaced = value.map((item, at) => replaceReferences(items, item, replace, [...path, at]));
    return replaced.every((item, at) => item === value[at]) ? value : replaced;
  }
  if (!isRecord(value)) return value;
  const replaced = Object.entries(value).map(([name, member]): [string, unknown] => {
    const node = memberSchemaOf(schema, name) ?? valuesOf(schema);
    return [name, node === undefined ? member : replaceReferences(node, member, replace, [...path, name])];
  });
  return replaced.every(([name, member]) => member === value[name]) ? value : Object.fromEntries(replaced);
}

export function vaultReferencesIn(schema: SchemaNode, value: unknown): readonly VaultReference[] {
  const found: VaultReference[] = [];
  replaceReferences(schema, value, (reference) => {
    found.push(reference);
    return reference.text;
  });
  return found;
}

const EXPECTED = "expected a reference such as {vault://env/NAME}, or {vault://env/NAME/member} for a JSON object";

/**
 * Reads `{vault://env/NAME}`, `{vault://env/NAME/member}` and `?prefix=`. As in Kong, the name is in upper case in the
 * environment, with `_` for `-`. The violation's path is empty.
 */
export function parseVaultReference(text: string): Checked<EnvironmentValue> {
  const refuse = (message: string) => ({ violations: [{ path: [], message }] });
  const url = URL.parse(text.slice(1, -1));
  if (url === null || url.hash !== "") return refuse(EXPECTED);
  if (url.host !== "env") return refuse(`Sluice has only the vault env: ${EXPECTED}`);
  const { prefix = "", ...others } = Object.fromEntries(url.searchParams);
  const [name = "", key = null, ...rest] = url.pathname.slice(1).split("/").map(decoded);
  const variable = `${prefix}${name}`.replaceAll("-", "_").toUpperCase();
  const isValid = /^[A-Z_][A-Z0-9_]*$/.test(variable) && name !== "" && key !== "";
  if (!isValid || rest.length > 0 || Object.keys(others).length > 0) return refuse(EXPECTED);
  return { value: { variable, key } };
}

/** A text that is not valid percent-encoding stays as it is, and is no valid name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
