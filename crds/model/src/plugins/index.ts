/** The table of plugins: the one place that lists them. Their handlers stand in the gateway under the same names. */

import { type SchemaNode, schemaNode } from "../schema/node.ts";
import { type CorsConfig, cors } from "./cors.ts";
import { type KeyAuthConfig, keyAuth } from "./key-auth.ts";
import { type PrometheusConfig, prometheus } from "./prometheus.ts";
import { type RateLimitingConfig, rateLimiting } from "./rate-limiting.ts";

/** Filled configs by plugin name. */
export interface PluginConfigs {
  readonly cors: CorsConfig;
  readonly "key-auth": KeyAuthConfig;
  readonly "rate-limiting": RateLimitingConfig;
  readonly prometheus: PrometheusConfig;
}

export type PluginName = keyof PluginConfigs;

/** Facts about a plugin that its config schema does not say. */
export interface PluginFacts {
  readonly schema: typeof cors | typeof keyAuth | typeof rateLimiting | typeof prometheus;
  /** Order of execution, high first. The numbers are Kong's. */
  readonly priority: number;
  /** The plugin keeps someone out: when it is invalid its routes answer 503 rather than stay open. */
  readonly protects: boolean;
  /** References that this plugin refuses (Kong: `value must be null`). */
  readonly refuses: readonly ("service" | "route" | "consumer")[];
}

export const plugins: Readonly<Record<PluginName, PluginFacts>> = {
  cors: { schema: cors, priority: 2000, protects: false, refuses: ["consumer"] },
  "key-auth": { schema: keyAuth, priority: 1250, protects: true, refuses: ["consumer"] },
  "rate-limiting": { schema: rateLimiting, priority: 910, protects: true, refuses: [] },
  prometheus: { schema: prometheus, priority: 13, protects: false, refuses: [] },
};

/** Where a plugin's config holds what is `secret`: `["redis", "password"]`. None for a plugin that is not ours. */
export function secretMembers(name: string): readonly (readonly string[])[] {
  const look = (node: SchemaNode, path: readonly string[]): readonly (readonly string[])[] =>
    node.secret
      ? [path]
      : Object.entries(node.properties ?? {}).flatMap(([member, inner]) => look(inner, [...path, member]));
  return Object.hasOwn(plugins, name) ? look(schemaNode(plugins[name as PluginName].schema), []) : [];
}

/**
 * Whether what the plugin is attached to is closed while the plugin cannot run. One that this version does not know, or
 * whose name is misspelt, may keep someone out.
 */
export const mayProtect = (name: unknown): boolean =>
  typeof name !== "string" || !Object.hasOwn(plugins, name) || plugins[name as PluginName].protects;

export const pluginNames = Object.keys(plugins) as readonly PluginName[];

export type { CorsConfig, KeyAuthConfig, PrometheusConfig, RateLimitingConfig };
