/**
 * Derives schemas in Kong's format from Sluice's schemas of entities and plugins. decK reads defaults from the derived
 * schemas.
 */
import {
  type Collection,
  credentialFactsOf,
  entities,
  type PluginFacts,
  pluginNamed,
  pluginNames,
  refusedTargets,
  type SchemaNode,
  schemaNodeAt,
  vaultKinds,
} from "@sluice/model";
import type { KongCheck } from "@sluice/plugin-sdk";
import { entityChecks } from "./checks.ts";

export interface KongSchema {
  readonly fields: KongFields;
  readonly entity_checks: readonly KongCheck[];
  readonly shorthand_fields?: KongFields;
}

/** Members that are generated when they are missing. */
const made: ReadonlySet<string> = new Set(["id", "created_at", "updated_at"]);

export function entitySchema(collection: Collection): KongSchema {
  const { schema, unique, credential } = entities[collection];
  const { properties } = schema;
  return {
    fields: Object.entries(properties).map(([name, member]) => ({
      [name]: {
        ...(isAbstract(collection, name) ? abstractField(member) : fieldOf(member)),
        ...((made.has(name) || credential?.generated.includes(name)) && { auto: true }),
        ...(name.endsWith("_at") && { timestamp: true }),
        ...(unique.includes(name) && { unique: true }),
        ...(collection === "plugin_credentials" && name === "plugin" && choiceOf(pluginsWithCredentials())),
      },
    })),
    entity_checks: entityChecks[collection] ?? [],
    ...(collection === "services" && { shorthand_fields: [{ url: { type: "string" } }] }),
  };
}

/** Null: there is no such plugin. */
export function kongPluginSchema(plugin: string): KongSchema | null {
  const facts = pluginNamed(plugin);
  if (facts === undefined) return null;
  const { schema, kongChecks = [] } = facts;
  const { protocols } = entities.plugins.schema.properties ?? {};
  const refused = refusedTargets(facts).map((member) => ({
    [member]: { type: "foreign", reference: `${member}s`, eq: null },
  }));
  const config: KongField = {
    type: "record",
    required: true,
    fields: kongFieldsOf(schema),
    ...deprecatedFields(facts),
  };
  return {
    fields: [...refused, ...(protocols ? [{ protocols: fieldOf(protocols) }] : []), { config }],
    entity_checks: kongChecks,
  };
}

/** Null: there is no such kind of vault. */
export function kongVaultSchema(kind: string): KongSchema | null {
  const { config } = entities.vaults.schema.properties ?? {};
  if (!vaultKinds.includes(kind) || config === undefined) return null;
  return { fields: [{ config: fieldOf(config) }], entity_checks: [] };
}

/** The key and the config of a plugin's credentials. Null: there is no such plugin, or it declares no credentials. */
export function kongCredentialSchema(plugin: string): KongSchema | null {
  const facts = credentialFactsOf(plugin);
  if (facts === undefined) return null;
  const { key = entities.plugin_credentials.schema.properties.key, schema } = facts;
  return {
    fields: [
      // Always a secret, whatever the plugin declares: nodes store only its hash.
      { key: { ...fieldOf(key ?? {}), required: true, encrypted: true } },
      { config: { type: "record", required: true, fields: kongFieldsOf(schema) } },
    ],
    entity_checks: [],
  };
}

const pluginsWithCredentials = (): readonly string[] =>
  pluginNames().filter((name) => credentialFactsOf(name) !== undefined);

const choiceOf = (words: readonly string[]) => words.length > 0 && { one_of: words };

/** Whether the schema of the member depends on another member, as the schema of a config depends on the plugin. */
const isAbstract = (collection: Collection, member: string): boolean =>
  member === "config" && ["plugins", "vaults", "plugin_credentials"].includes(collection);

const abstractField = ({ nullable = false }: SchemaNode): KongField => ({
  type: "record",
  abstract: true,
  ...(!nullable && { required: true }),
});

/**
 * The plugin's deprecated members as Kong's `shorthand_fields`. Responses contain these members too, and decK needs
 * their schemas to compare a file with the responses.
 */
function deprecatedFields({ name: plugin, schema }: PluginFacts): { readonly shorthand_fields?: KongFields } {
  const fields = (schema.deprecatedMembers ?? []).map(({ name, replacedBy }) => {
    const { type, len_min } = fieldOf(schemaNodeAt(schema, replacedBy) ?? {});
    const now = `config.${replacedBy.join(".")}`;
    const deprecation = {
      replaced_with: [{ path: replacedBy }],
      message: `${plugin}: config.${name} is deprecated, please use ${now} instead`,
      removal_in_version: "4.0",
    };
    return { [name]: { type, ...(len_min !== undefined && { len_min }), deprecation } };
  });
  return fields.length === 0 ? {} : { shorthand_fields: fields };
}

/** The schema of one member. Clients fill in `default`s and look into `fields`, `elements` and `values`. */
export type KongField = Readonly<Record<string, unknown>>;

/** Kong's `fields`: one `{ name: schema }` record for each member, in the order of the schema. */
export type KongFields = readonly Readonly<Record<string, KongField>>[];

function fieldOf(node: SchemaNode): KongField {
  const { description, nullable = false, enum: words, rule, referenceable, secret } = node;
  const value = defaultOf(node);
  return {
    ...typeOf(node),
    ...(description !== undefined && { description }),
    ...(!nullable && { required: true }),
    ...(referenceable && { referenceable }),
    ...(secret && { encrypted: true }),
    ...(value !== undefined && { default: value }),
    ...(words && { one_of: words }),
    ...(rule === "uuid" && { uuid: true }),
    ...bounds(node),
  };
}

const kongFieldsOf = ({ properties = {} }: SchemaNode): KongFields =>
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

/** The schema of an item of a list, or of a value of a map, without `required`: neither is ever unset. */
function elementOf(node: SchemaNode): KongField {
  const { required: _required, ...element } = fieldOf(node);
  return element;
}

function bounds(node: SchemaNode): KongField {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } = node;
  // In Kong's schemas, strings are non-empty by default: a minimum length of 1 is left out.
  const [least, most] = [minLength === 1 ? minItems : (minLength ?? minItems), maxLength ?? maxItems];
  return {
    ...(minimum !== undefined && maximum !== undefined && { between: [minimum, maximum] }),
    ...(exclusiveMinimum !== undefined && { gt: exclusiveMinimum }),
    ...(least !== undefined && { len_min: least }),
    ...(most !== undefined && { len_max: most }),
  };
}
