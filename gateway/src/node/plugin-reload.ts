/** Loads the plugins of `SLUICE_PLUGINS` again while the node serves requests. */
import {
  describeViolation,
  type LoadedPlugin,
  reloadPlugins,
  SettingsError,
  type Snapshot,
} from "@sluice/model/serving";
import { pluginSettings as setting } from "../settings/plugins.ts";
import type { Intake } from "../sources/intake.ts";
import type { Workers } from "../workers/workers.ts";

interface PluginReloadOptions {
  readonly plugins: readonly LoadedPlugin[];
  readonly workers: Pick<Workers, "readyToReload" | "reload">;
  readonly intake: Intake;
  /** Called with the snapshot that the new workers serve. */
  readonly onReload: (snapshot: Snapshot) => void;
  /** Reads the document again from its source. */
  readonly reread: () => Promise<void>;
}

/**
 * The code of the workers and the schemas of this process, which its admin API also uses, change together or not at
 * all. Reloads run one after the other. A reload that waits for its turn will load the newest code, so further calls
 * during its wait share its result.
 */
export function createPluginReload(
  { plugins: entries }: { readonly plugins: readonly string[] },
  { plugins, workers, intake, onReload, reread }: PluginReloadOptions,
): () => Promise<void> {
  let names = namesOf(plugins);
  let last: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | null = null;

  async function reload(): Promise<void> {
    try {
      await workers.readyToReload();
    } finally {
      waiting = null;
    }
    const { value: loaded, violations } = await reloadPlugins(entries, { part: "code", from: process.cwd() });
    if (violations) throw faultsOf(violations.map(({ message }) => message));
    await intake.runBetweenUpdates(async (served) => {
      const check = await configsOf(served, names);
      const undo = loaded.register();
      try {
        const next = check();
        await workers.reload(
          loaded.plugins.map(({ files }) => files.code),
          next,
        );
        names = namesOf(loaded.plugins);
        onReload(next);
        return next;
      } catch (error) {
        undo();
        throw error;
      }
    });
    await reread();
  }

  return () => {
    waiting ??= last.then(reload);
    last = waiting.catch(() => undefined);
    return waiting;
  };
}

const namesOf = (plugins: readonly LoadedPlugin[]): ReadonlySet<string> =>
  new Set(plugins.map(({ facts }) => facts.name));

const faultsOf = (messages: readonly string[]): SettingsError =>
  new SettingsError(messages.map((message) => `${setting.variable}: ${message}`).join("\n"));

/**
 * Prepares the served configs of these plugins and of their credentials for new schemas: members that equal the
 * defaults of the present schemas are left out. The returned function checks the configs by the schemas that are
 * registered when it is called, fills in their defaults, and returns the snapshot with the results. It throws
 * SettingsError if the config of a plugin is invalid; a credential that the new schema refuses grants no access.
 */
async function configsOf(served: Snapshot, names: ReadonlySet<string>): Promise<() => Snapshot> {
  // Loaded on demand: serving needs no code that validates.
  const { applyChange, compactChange } = await import("@sluice/model");
  const own = [...served.plugins.values()].filter(({ name }) => names.has(name));
  const credentials = [...served.plugin_credentials.values()].filter(({ plugin }) => names.has(plugin));
  const { put } = compactChange({ put: { plugins: own, plugin_credentials: credentials }, remove: {} });
  const { plugins = [], plugin_credentials = [] } = put;
  const idsOf = (entities: readonly { readonly id: string }[]) => entities.map(({ id }) => id);
  return () => {
    if (own.length + credentials.length === 0) return served;
    // Removed first: an entity whose compact form is unchanged would be kept, with the earlier defaults.
    const remove = { plugins: idsOf(own), plugin_credentials: idsOf(credentials) };
    const without = applyChange(served, { put: {}, remove });
    const { value, violations } = without.value
      ? applyChange(without.value, { put: { plugins }, remove: {} })
      : without;
    const all = value && applyChange(value, { put: { plugin_credentials }, remove: {} }, { closePlugins: true }).value;
    if (all) return all;
    throw faultsOf(
      (violations ?? []).map(({ path: [, at, ...path], message }) => {
        const { name, id } = own[Number(at)] ?? {};
        return `the plugin ${name} (${id}) is configured in a way that its new code refuses: ${describeViolation({ path, message })}`;
      }),
    );
  };
}
