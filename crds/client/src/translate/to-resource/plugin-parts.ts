/** Members of a Plugin resource only: the plugin's name, its config, and the config members kept in Secrets. */
import { type ConfigFrom, type PluginName, plugins, schemaNode, withoutDefaults } from "@sluice/model";

type Members = Readonly<Record<string, unknown>>;

/** @param before The previous spec: its configFrom stays for members that the entity leaves unset. */
export function pluginParts(entity: Members, before: Members): Members {
  const config = Object(entity.config) as Members;
  const configFrom = (Array.isArray(before.configFrom) ? (before.configFrom as readonly ConfigFrom[]) : []).filter(
    ({ path }) => memberAt(config, path.split(".")) === undefined,
  );
  const written = withoutDefaults(schemaOf(entity.name), config, before.config);
  return {
    plugin: entity.name,
    ...(Object.keys(written).length > 0 && { config: written }),
    ...(configFrom.length > 0 && { configFrom }),
  };
}

const schemaOf = (name: unknown) =>
  typeof name === "string" && Object.hasOwn(plugins, name) ? schemaNode(plugins[name as PluginName].schema) : {};

/** Undefined when the member is null or missing. */
function memberAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value ?? undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return memberAt((value as Members)[step], rest);
}
