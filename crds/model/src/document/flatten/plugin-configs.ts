/** decK's `_plugin_configs`: named configs that plugins of the same file include through `_config`. */
import { isRecord } from "../../schema/node.ts";
import type { Violation } from "../../violation.ts";

type Members = Readonly<Record<string, unknown>>;

export interface DeckPluginConfigs {
  readonly violations: readonly Violation[];
  /** Merges the referenced config into a plugin; the plugin's own members take precedence at every level. */
  readonly apply: (plugin: Members) => { readonly plugin: Members; readonly violations: readonly Violation[] };
}

export function readPluginConfigs(given: unknown): DeckPluginConfigs {
  const configs = isRecord(given) ? given : {};
  const violations: Violation[] =
    isRecord(given) || (given ?? null) === null ? [] : [{ path: ["_plugin_configs"], message: "expected a record" }];
  for (const [name, config] of Object.entries(configs)) {
    if (!isRecord(config)) violations.push({ path: ["_plugin_configs", name], message: "expected a record" });
  }
  return {
    violations,
    apply(written) {
      if (!Object.hasOwn(written, "_config")) return { plugin: written, violations: [] };
      const { _config: name, ...plugin } = written;
      if (name === null) return { plugin, violations: [] };
      if (typeof name !== "string") return fault(plugin, "expected a string");
      if (!Object.hasOwn(configs, name)) return fault(plugin, `'_plugin_configs' has no config '${name}'`);
      const named = configs[name];
      const own = plugin.config ?? {};
      const config = isRecord(named) && isRecord(own) ? withDefaults(own, named) : own;
      return { plugin: { ...plugin, config }, violations: [] };
    },
  };
}

const fault = (plugin: Members, message: string) => ({ plugin, violations: [{ path: ["_config"], message }] });

/** Like decK since go-database-reconciler 1.36 (before: at the top level only): an explicit null counts as a value. */
function withDefaults(own: Members, defaults: Members): Members {
  const missing = Object.entries(defaults).map(([name, value]): [string, unknown] => {
    if (!Object.hasOwn(own, name)) return [name, value];
    const given = own[name];
    return [name, isRecord(given) && isRecord(value) ? withDefaults(given, value) : given];
  });
  return { ...own, ...Object.fromEntries(missing) };
}
