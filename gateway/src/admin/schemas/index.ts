/** Schemas of entities and plugins in Kong's format, derived from Sluice's: decK fills in their defaults. */
import {
  type Collection,
  entities,
  type PluginName,
  pluginNames,
  plugins,
  type SchemaNode,
  schemaNodeAt,
} from "@sluice/model";
import { entityChecks, type KongCheck, pluginChecks } from "./checks.ts";
import { fieldOf, type KongField, type KongFields, kongFieldsOf } from "./field.ts";

export interface KongSchema {
  readonly fields: KongFields;
  readonly entity_checks: readonly KongCheck[];
  readonly shorthand_fields?: KongFields;
}

/** Members that are generated when they are missing. */
const made: ReadonlySet<string> = new Set(["id", "created_at", "updated_at"]);

export function entitySchema(collection: Collection): KongSchema {
  const { schema, unique } = entities[collection];
  const { properties } = schema;
  return {
    fields: Object.entries(properties).map(([name, member]) => ({
      [name]: {
        ...(isOpen(member) ? { type: "record", abstract: true, required: true } : fieldOf(member)),
        ...((made.has(name) || isKey(collection, name)) && { auto: true }),
        ...(name.endsWith("_at") && { timestamp: true }),
        ...(unique.includes(name) && { unique: true }),
      },
    })),
    entity_checks: entityChecks[collection] ?? [],
    ...(collection === "services" && { shorthand_fields: [{ url: { type: "string" } }] }),
  };
}

/** Null: there is no such plugin. */
export function kongPluginSchema(plugin: string): KongSchema | null {
  if (!isPlugin(plugin)) return null;
  const { schema, refuses } = plugins[plugin];
  const { protocols } = entities.plugins.schema.properties ?? {};
  const refused = refuses.map((member) => ({ [member]: { type: "foreign", reference: `${member}s`, eq: null } }));
  const config: KongField = {
    type: "record",
    required: true,
    fields: kongFieldsOf(schema),
    ...deprecatedFields(plugin),
  };
  return {
    fields: [...refused, ...(protocols ? [{ protocols: fieldOf(protocols) }] : []), { config }],
    entity_checks: pluginChecks[plugin] ?? [],
  };
}

const isPlugin = (name: string): name is PluginName => (pluginNames as readonly string[]).includes(name);

const isKey = (collection: Collection, name: string): boolean => collection === "keyauth_credentials" && name === "key";

/** A member whose form depends on another member: a plugin's config. */
const isOpen = ({ type, properties, additionalProperties }: SchemaNode): boolean =>
  type === "object" && !properties && additionalProperties === undefined;

/** decK compares the deprecated members of a file with those in responses. */
function deprecatedFields(plugin: PluginName): { readonly shorthand_fields?: KongFields } {
  const schema = plugins[plugin].schema;
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
