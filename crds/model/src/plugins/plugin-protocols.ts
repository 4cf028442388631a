/**
 * Whether the protocols of a plugin match those of its route. A plugin whose protocols match none can exist: files and
 * custom resources may contain it, and the protocols of a route can change later.
 */
import { servedProtocols, streamProtocols } from "../entities/plugin.ts";
import { pluginNamed } from "./index.ts";

/** The protocols on which a plugin with these `protocols` acts, as far as it supports them. */
export function coveredProtocols(name: unknown, protocols: readonly unknown[]): ReadonlySet<unknown> {
  // In Kong, the default of such a plugin lists the protocols of connections too.
  const isDefault = servedProtocols.every((protocol) => protocols.includes(protocol));
  const implied = isDefault && pluginNamed(name)?.actsOnConnections === "byDefault" ? streamProtocols : [];
  return new Set([...protocols, ...implied]);
}

/**
 * A sentence without a period about a plugin whose protocols match none of its route; null: one of them does, the plugin
 * acts on the route nevertheless, or this process does not have the plugin.
 */
export function protocolMismatch(
  { name, protocols }: { readonly name: unknown; readonly protocols: readonly unknown[] },
  ofRoute: readonly unknown[],
): string | null {
  const plugin = pluginNamed(name);
  const covered = coveredProtocols(name, protocols);
  if (plugin === undefined || ofRoute.some((protocol) => covered.has(protocol))) return null;
  const isForConnections = ofRoute.some((protocol) => streamProtocols.some((one) => one === protocol));
  const acts = plugin.actsOnConnections !== undefined;
  // A plugin that protects a route of connections acts on them whatever its protocols are, or else closes them.
  if (isForConnections && plugin.protects && acts) return null;
  const effect =
    isForConnections && plugin.protects
      ? "the connections are closed, because the plugin acts on requests only"
      : "the plugin has no effect on the route";
  return `the protocols of the plugin (${protocols.join(", ")}) match none of the route's (${ofRoute.join(", ")}): ${effect}`;
}
