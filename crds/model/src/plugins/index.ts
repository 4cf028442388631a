/** The table of plugins: the one place that lists them. Their handlers are in the gateway under the same names. */

import { type Collection, entities } from "../entities/index.ts";
import type { RecordSchema, Static } from "../schema/member.ts";
import type { SchemaNode } from "../schema/node.ts";
import { type CorsConfig, corsSchema } from "./cors.ts";
import { type KeyAuthConfig, keyAuthSchema } from "./key-auth.ts";
import { type PrometheusConfig, prometheusSchema } from "./prometheus.ts";
import { type RateLimitingConfig, rateLimitingSchema } from "./rate-limiting.ts";

/** Facts about a plugin that its config schema does not express. */
export interface PluginFacts {
  readonly schema: RecordSchema;
  /** Order of execution, high first. The numbers are Kong's. */
  readonly priority: number;
  /** Whether the plugin protects its targets: if it is invalid, its routes answer 503 instead of staying open. */
  readonly protects: boolean;
  /** Targets that this plugin does not support (Kong: `value must be null`). */
  readonly refuses: readonly ("service" | "route" | "consumer")[];
}

const table = {
  cors: { schema: corsSchema, priority: 2000, protects: false, refuses: ["consumer"] },
  "key-auth": { schema: keyAuthSchema, priority: 1250, protects: true, refuses: ["consumer"] },
  "rate-limiting": { schema: rateLimitingSchema, priority: 910, protects: true, refuses: [] },
  prometheus: { schema: prometheusSchema, priority: 13, protects: false, refuses: [] },
} satisfies Readonly<Record<string, PluginFacts>>;

export type PluginName = keyof typeof table;
/** Configs with defaults by plugin name. */
export type PluginConfigs = { readonly [Name in PluginName]: Static<(typeof table)[Name]["schema"]> };

export const plugins: Readonly<Record<PluginName, PluginFacts>> = table;

/** The schema of an entity; a plugin's includes the schema of its config, if this version has the plugin. */
export function entitySchemaOf(collection: Collection, entity: object): SchemaNode {
  const { schema } = entities[collection];
  const { name } = entity as { readonly name?: unknown };
  if (collection !== "plugins" || typeof name !== "string" || !Object.hasOwn(plugins, name)) return schema;
  const config = { ...plugins[name as PluginName].schema, default: {} };
  return { ...schema, properties: { ...schema.properties, config } };
}

/** Paths of `secret` members in a plugin's config: `["redis", "password"]`. Empty for unknown plugins. */
export function secretMembers(name: string): readonly (readonly string[])[] {
  const look = (node: SchemaNode, path: readonly string[]): readonly (readonly string[])[] =>
    node.secret
      ? [path]
      : Object.entries(node.properties ?? {}).flatMap(([member, inner]) => look(inner, [...path, member]));
  return Object.hasOwn(plugins, name) ? look(plugins[name as PluginName].schema, []) : [];
}

/**
 * Whether the plugin's routes answer 503 while it cannot run. An unknown or misspelt plugin might be a protecting one.
 */
export const mayProtect = (name: unknown): boolean =>
  typeof name !== "string" || !Object.hasOwn(plugins, name) || plugins[name as PluginName].protects;

export const pluginNames = Object.keys(plugins) as readonly PluginName[];

export type { CorsConfig, KeyAuthConfig, PrometheusConfig, RateLimitingConfig };
