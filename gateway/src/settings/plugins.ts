/** The start-up setting that names the plugins that do not come with Sluice. */
import { type LoadedPlugin, type LoadPluginsOptions, loadPlugins, SettingsError } from "@sluice/model/serving";

export const pluginSettings = {
  variable: "SLUICE_PLUGINS",
  kind: "list",
  default: [],
  description:
    "Plugins in addition to those that come with Sluice: folders, such as ./my-plugin, and installed packages, such " +
    "as @acme/sluice-plugin-x. A folder may be an unpacked npm package. Relative paths and packages are resolved from " +
    "the working directory. Nodes load a plugin's code; the admin API and the operator load only its schema. On SIGHUP a " +
    "node loads its plugins again, and no request fails; the admin API and the operator must be restarted. Give all " +
    "processes the same value. Plugins are trusted code: they run without a sandbox.",
} as const;

/** Loads the plugins and registers them in this process. Rejects with a SettingsError that lists all faults. */
export async function registerConfiguredPlugins(
  settings: { readonly plugins: readonly string[] },
  part: LoadPluginsOptions["part"],
): Promise<readonly LoadedPlugin[]> {
  const { value, violations } = await loadPlugins(settings.plugins, { part, from: process.cwd() });
  if (value) return value;
  throw new SettingsError(violations.map(({ message }) => `${pluginSettings.variable}: ${message}`).join("\n"));
}
