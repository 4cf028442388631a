/**
 * Plugins that do not come with Sluice. A folder has `index.ts` and `schema.ts` (or `.js`), a package exports `.` and
 * `./schema`. The first module exports the definition, the second the facts, which exclude the code of the phases; both
 * are default exports.
 */
import type { Checked, PluginDefinition, PluginFacts } from "@sluice/plugin-sdk";
import { registerPlugins } from "../index.ts";
import type { LoadedPlugin, LoadPluginsOptions } from "./load.ts";
import { useOwnSdk } from "./locate.ts";

export type { LoadedPlugin, LoadPluginsOptions } from "./load.ts";

let schemas: readonly string[] = [];

/** URLs of the modules with the facts of the loaded plugins, for `registerSchemas` in another process. */
export const loadedSchemas = (): readonly string[] => schemas;

/** Imports, checks and registers plugins. Called once, before the process reads any entity. */
export async function loadPlugins(
  entries: readonly string[],
  options: LoadPluginsOptions,
): Promise<Checked<readonly LoadedPlugin[]>> {
  if (entries.length === 0) return { value: [] };
  // Imported on demand: a process without such plugins does not need the code of the checks.
  const { load } = await import("./load.ts");
  const loaded = await load(entries, options);
  if (loaded.violations) return loaded;
  registerPlugins(loaded.value.map(({ facts }) => facts));
  schemas = loaded.value.map(({ files }) => files.schema);
  return loaded;
}

/** Registers plugins that the parent process has checked. */
export async function registerSchemas(urls: readonly string[]): Promise<void> {
  registerPlugins(await importPlugins<PluginFacts>(urls));
}

/** Imports the default exports of modules that `loadPlugins` has checked, in this thread or another one. */
export async function importPlugins<Plugin extends PluginFacts = PluginDefinition>(
  urls: readonly string[],
): Promise<readonly Plugin[]> {
  if (urls.length > 0) useOwnSdk();
  return Promise.all(urls.map(async (url) => (await import(url)).default));
}
