/** The plugins that this process knows: plugins that come with Sluice, and registered plugins. */
import { hash } from "node:crypto";
import type { PluginCredentialFacts, PluginFacts, PluginTarget, SchemaNode } from "@sluice/plugin-sdk";
import { builtInFacts } from "@sluice/plugins/schemas";
import { type Collection, entities } from "../entities/index.ts";
import { canonicalJson } from "../ids.ts";

const known = new Map<string, PluginFacts>(builtInFacts.map((facts) => [facts.name, facts]));

/** The form of a plugin's name. The API server checks only this form, because it does not know which plugins exist. */
export const PLUGIN_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const PLUGIN_NAME_LENGTH = 64;

/**
 * Adds plugins to those that come with Sluice. Must be called before the process validates any entity: entities of a
 * plugin that is not yet registered are refused or answer 503.
 *
 * @throws TypeError if there is already a plugin of the same name.
 */
export function registerPlugins(plugins: readonly PluginFacts[]): void {
  for (const facts of plugins) {
    if (known.has(facts.name)) throw new TypeError(`there are two plugins with the name ${facts.name}`);
    known.set(facts.name, facts);
  }
}

/** The targets that a plugin does not support: a plugin that refuses consumers also refuses consumer groups. */
export const refusedTargets = ({ refuses = [] }: Pick<PluginFacts, "refuses">): readonly PluginTarget[] =>
  refuses.flatMap((target) => (target === "consumer" ? [target, "consumer_group"] : [target]));

/** The violation of a plugin that is attached to a consumer and to a group: it would act on no request. */
export const CONSUMER_OR_GROUP = "a plugin cannot be attached to both a consumer and a consumer group";

/**
 * Replaces the registered plugins, and returns the previous ones. Values that were checked with the facts of a
 * replaced plugin must be checked again.
 */
export function replaceRegistered(plugins: readonly PluginFacts[]): readonly PluginFacts[] {
  const before = registered();
  for (const { name } of before) known.delete(name);
  registerPlugins(plugins);
  return before;
}

const registered = (): readonly PluginFacts[] => [...known.values()].slice(builtInFacts.length);

/** The facts of a plugin; undefined if this process does not have the plugin. */
export const pluginNamed = (name: unknown): PluginFacts | undefined =>
  typeof name === "string" ? known.get(name) : undefined;

/** The names of all known plugins, in the order of `builtInFacts`; registered plugins come last. */
export const pluginNames = (): readonly string[] => [...known.keys()];

/**
 * SHA-256 of the names, versions and schemas (also those of credentials) of the registered plugins, in hex. The plugins
 * that come with Sluice are not included, because they differ between versions of Sluice.
 */
export function pluginSetHash(): string {
  const facts = registered().map(({ name, version, schema, credentials }) => ({
    name,
    version,
    schema,
    ...(credentials && { credentials: { key: credentials.key, schema: credentials.schema } }),
  }));
  return hash("sha256", canonicalJson(facts.sort((one, other) => (one.name < other.name ? -1 : 1))));
}

/** What a plugin declares about the member `config` of an entity. */
export type ConfigFacts = Pick<PluginFacts, "schema" | "expand" | "check">;

/**
 * The facts about the config of a plugin or of a plugin's credential. Undefined: the plugin declares none, this process
 * lacks the plugin, or entities of the collection have no such config.
 */
export function configFactsOf(collection: Collection, entity: object): ConfigFacts | undefined {
  const { name, plugin } = entity as { readonly name?: unknown; readonly plugin?: unknown };
  if (collection === "plugins") return pluginNamed(name);
  return collection === "plugin_credentials" ? credentialFactsOf(plugin) : undefined;
}

/** What a plugin declares about its credentials; undefined if it declares none, or if this process lacks the plugin. */
export const credentialFactsOf = (plugin: unknown): PluginCredentialFacts | undefined =>
  pluginNamed(plugin)?.credentials;

/** The schema of an entity; it includes the schema of a config, if this process has the plugin. */
export function entitySchemaOf(collection: Collection, entity: object): SchemaNode {
  const { schema } = entities[collection];
  const config = configFactsOf(collection, entity)?.schema;
  if (config === undefined) return schema;
  return { ...schema, properties: { ...schema.properties, config: { ...config, default: {} } } };
}

/** Paths of `secret` members in an entity's config: `["redis", "password"]`. Empty for unknown plugins. */
export function secretMembers(collection: Collection, entity: object): readonly (readonly string[])[] {
  const collect = (node: SchemaNode, path: readonly string[]): readonly (readonly string[])[] =>
    node.secret
      ? [path]
      : Object.entries(node.properties ?? {}).flatMap(([member, inner]) => collect(inner, [...path, member]));
  return collect(configFactsOf(collection, entity)?.schema ?? {}, []);
}

/**
 * Whether requests in a plugin's scope are answered 503 while it cannot run. An unknown plugin may be a protecting one.
 */
export const mayProtect = (name: unknown): boolean => pluginNamed(name)?.protects ?? true;
