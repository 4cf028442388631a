/**
 * Plugins that do not come with Sluice. A plugin consists of two modules: `index.ts` and `schema.ts` (or `.js`) of a
 * folder, or the exports `.` and `./schema` of a package, which may be an unpacked folder. The default export of the
 * first module is the definition. The default export of the second is the facts, without the code of the phases.
 */
import type { Checked, PluginDefinition, PluginFacts } from "@sluice/plugin-sdk";
import { registerPlugins, replaceRegistered } from "../index.ts";
import { describeImportError, importModule } from "./import-module.ts";
import type { LoadedPlugin, LoadPluginsOptions } from "./load.ts";

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
  const { loadExternalPlugins } = await import("./load.ts");
  const loaded = await loadExternalPlugins(entries, options);
  if (loaded.violations) return loaded;
  registerPlugins(loaded.value.map(({ facts }) => facts));
  schemas = loaded.value.map(({ files }) => files.schema);
  return loaded;
}

let generation = 0;

/** Plugins whose modules were imported again and checked, but are not registered yet. */
export interface ReloadedPlugins {
  readonly plugins: readonly LoadedPlugin[];
  /** Replaces the registered plugins by these. Returns a function that restores the previous plugins. */
  register(): () => void;
}

/**
 * Imports and checks the modules of plugins again, and registers nothing. This thread needs only the facts, but
 * importing both modules here finds errors before any worker imports them. The facts must be imported in this thread,
 * because functions such as `check` cannot be sent between threads. Node never frees a module, so each call costs the
 * memory of the modules once more.
 */
export async function reloadPlugins(
  entries: readonly string[],
  options: LoadPluginsOptions,
): Promise<Checked<ReloadedPlugins>> {
  const { loadExternalPlugins } = await import("./load.ts");
  const { value: loaded, violations } = await loadExternalPlugins(entries, options, ++generation);
  if (violations) return { violations };
  const register = () => {
    const [factsBefore, schemasBefore] = [replaceRegistered(loaded.map(({ facts }) => facts)), schemas];
    schemas = loaded.map(({ files }) => files.schema);
    return () => {
      replaceRegistered(factsBefore);
      schemas = schemasBefore;
    };
  };
  return { value: { plugins: loaded, register } };
}

/** Registers plugins that the parent process has checked. */
export async function registerSchemas(urls: readonly string[]): Promise<void> {
  registerPlugins(await importPlugins<PluginFacts>(urls));
}

/**
 * Imports the default exports of modules that `loadPlugins` has checked, in this thread or another one. Rejects with an
 * error that names the module if its file has changed after the check and can no longer be imported.
 */
export async function importPlugins<Plugin extends PluginFacts = PluginDefinition>(
  urls: readonly string[],
): Promise<readonly Plugin[]> {
  return Promise.all(
    urls.map(async (url) => {
      const plugin = await importModule(url).catch((cause: unknown) => {
        throw new Error(describeImportError(url, cause), { cause });
      });
      return plugin as Plugin;
    }),
  );
}
