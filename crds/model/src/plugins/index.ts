/** The plugins that this version knows: those that come with Sluice. */
import type { PluginFacts, SchemaNode } from "@sluice/plugin-sdk";
import { builtInFacts } from "@sluice/plugins/schemas";
import { type Collection, entities } from "../entities/index.ts";

const known = new Map<string, PluginFacts>(builtInFacts.map((facts) => [facts.name, facts]));

/** Undefined for a plugin that this version does not have. */
export const pluginNamed = (name: unknown): PluginFacts | undefined =>
  typeof name === "string" ? known.get(name) : undefined;

/** In the order of `builtInFacts`. */
export const pluginNames = (): readonly string[] => [...known.keys()];

/** The schema of an entity; a plugin's includes the schema of its config, if this version has the plugin. */
export function entitySchemaOf(collection: Collection, entity: object): SchemaNode {
  const { schema } = entities[collection];
  const { name } = entity as { readonly name?: unknown };
  const plugin = collection === "plugins" ? pluginNamed(name) : undefined;
  if (plugin === undefined) return schema;
  return { ...schema, properties: { ...schema.properties, config: { ...plugin.schema, default: {} } } };
}

/** Paths of `secret` members in a plugin's config: `["redis", "password"]`. Empty for unknown plugins. */
export function secretMembers(name: string): readonly (readonly string[])[] {
  const look = (node: SchemaNode, path: readonly string[]): readonly (readonly string[])[] =>
    node.secret
      ? [path]
      : Object.entries(node.properties ?? {}).flatMap(([member, inner]) => look(inner, [...path, member]));
  const plugin = pluginNamed(name);
  return plugin === undefined ? [] : look(plugin.schema, []);
}

/**
 * Whether the plugin's routes answer 503 while it cannot run. An unknown or misspelt plugin might be a protecting one.
 */
export const mayProtect = (name: unknown): boolean => pluginNamed(name)?.protects ?? true;
