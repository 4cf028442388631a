/**
 * References to vaults in configs of plugins. `{vault://env/NAME}` stands for the value of the node's environment
 * variable NAME, which only the node reads. `{vault://my-env/NAME}` stands for the variable whose name is the
 * `config.prefix` of the vault my-env followed by NAME. The forms are Kong's
 * (docs/reference/kong-compatibility.md#references-to-vaults).
 */
import { type Checked, isRecord, memberSchemaOf, type SchemaNode, type Violation, valuesOf } from "@sluice/plugin-sdk";
import { vaultRules } from "../check/rules/vaults.ts";
import { type Vault, vaultKinds } from "../entities/vault.ts";

export interface VaultReference {
  /** Where the reference is in the config. */
  readonly path: Violation["path"];
  readonly text: string;
  /** The schema of the member that has the reference as its value. */
  readonly schema: SchemaNode;
}

/** The value that a reference names. */
export interface VaultAddress {
  /** The prefix of a vault, or a kind of vaults, such as env. */
  readonly vault: string;
  readonly name: string;
  /** The prefix of the variable's name; null: the prefix in the config of the vault. */
  readonly prefix: string | null;
  /** The member of the JSON object in the variable; null: the whole variable. */
  readonly key: string | null;
}

/** Whether a value is a reference. As in Kong, a malformed one between `{vault://` and `}` counts too. */
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

/** The prefixes of vaults that the references name, each once. Kinds of vaults are left out. */
export function vaultPrefixesOf(references: readonly Pick<VaultReference, "text">[]): readonly string[] {
  const vaults = references.flatMap(({ text }) => parseVaultReference(text).value?.vault ?? []);
  return [...new Set(vaults)].filter((vault) => !vaultKinds.includes(vault));
}

const EXPECTED =
  "expected a reference such as {vault://env/NAME}, or {vault://env/NAME/member} for a JSON object, with env or the " +
  "prefix of a vault";

/** Reads `{vault://VAULT/NAME}`, `{vault://VAULT/NAME/member}` and `?prefix=`. The violation's path is empty. */
export function parseVaultReference(text: string): Checked<VaultAddress> {
  const refuse = { violations: [{ path: [], message: EXPECTED }] };
  const url = URL.parse(text.slice(1, -1));
  if (url === null || url.hash !== "") return refuse;
  const { host: vault } = url;
  const isKind = vaultKinds.includes(vault);
  if (!isKind && vaultRules["vault-prefix"](vault) !== undefined) return refuse;
  const { prefix = null, ...others } = Object.fromEntries(url.searchParams);
  const [name = "", key = null, ...rest] = url.pathname.slice(1).split("/").map(decoded);
  const address = { vault, name, prefix, key };
  // A variable's name cannot begin with a digit, but the config of a vault may have a prefix for the name.
  const form = isKind ? /^[A-Z_][A-Z0-9_]*$/ : /^[A-Z0-9_]+$/;
  const isValid = form.test(variableOf(address)) && name !== "" && key !== "";
  return isValid && rest.length === 0 && Object.keys(others).length === 0 ? { value: address } : refuse;
}

/**
 * The name of the environment variable to which a reference refers. As in Kong, it is in upper case, with `_` for `-`.
 *
 * @param vault The vault with the prefix that the reference names. Default: the reference names a kind.
 */
export function variableOf({ name, prefix }: VaultAddress, vault?: Pick<Vault, "config">): string {
  const before = prefix ?? vault?.config?.prefix ?? "";
  return `${before}${name}`.replaceAll("-", "_").toUpperCase();
}

/** Decodes percent-encoding. A text with an invalid encoding stays as it is; it is not a valid name of a variable. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
