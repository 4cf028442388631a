/** Imports the plugins that a setting names, and checks what their modules export. */
import { type Checked, isRecord, type PluginFacts, sdkVersion, type Violation } from "@sluice/plugin-sdk";
import { builtInFacts } from "@sluice/plugins/schemas";
import { canonicalJson } from "../../ids.ts";
import { factsFaults } from "./check-facts.ts";
import { describeImportError, type ImportOptions, importModule } from "./import-module.ts";
import { locatePlugin, type PluginFiles, pathOf } from "./locate.ts";
import { rangeContains } from "./version-range.ts";

export interface LoadedPlugin {
  readonly facts: PluginFacts;
  readonly files: PluginFiles;
}

export interface LoadPluginsOptions {
  /** `schema`: only the facts are imported, and no code of a phase. `code`: both modules are imported and compared. */
  readonly part: "schema" | "code";
  /** Absolute path of the folder from which relative paths and packages are resolved. */
  readonly from: string;
  /** Milliseconds that the import of a module may take; default 10 s. */
  readonly importTimeout?: number;
}

/** The word in Kong's setting `plugins` for the plugins that come with Kong. */
const KONG_BUNDLE = "bundled";
const ENABLED = "the plugins that come with Sluice are always enabled: remove this entry";

/** Returns all plugins, or the violations of all entries. The path of a violation is the index of its entry. */
export async function loadExternalPlugins(
  entries: readonly string[],
  { part, from, importTimeout }: LoadPluginsOptions,
  generation = 0,
): Promise<Checked<readonly LoadedPlugin[]>> {
  const violations: Violation[] = [];
  const loaded: LoadedPlugin[] = [];
  const imports: ImportOptions = { generation, ...(importTimeout !== undefined && { timeout: importTimeout }) };
  const builtIn = new Set<string>(builtInFacts.map(({ name }) => name));
  for (const [index, entry] of entries.entries()) {
    const located = builtIn.has(entry) || entry === KONG_BUNDLE ? { fault: ENABLED } : locatePlugin(entry, from);
    const result = located.fault === undefined ? await loadOne(located.files, part, imports) : [located.fault];
    const faults = "facts" in result ? nameFaults(result, { builtIn, loaded }) : result;
    violations.push(...faults.map((fault) => ({ path: [index], message: `${entry}: ${fault}` })));
    if ("facts" in result && faults.length === 0) loaded.push(result);
  }
  return violations.length > 0 ? { violations } : { value: loaded };
}

interface KnownPlugins {
  readonly builtIn: ReadonlySet<string>;
  readonly loaded: readonly LoadedPlugin[];
}

function nameFaults({ facts: { name }, files }: LoadedPlugin, { builtIn, loaded }: KnownPlugins): readonly string[] {
  const at = pathOf(files.schema);
  if (builtIn.has(name)) return [`${at}: name: ${name} is a plugin that comes with Sluice: choose another name`];
  const other = loaded.find(({ facts }) => facts.name === name);
  if (other === undefined) return [];
  return [`${at}: name: ${name} is also the name of the plugin ${other.files.entry}: remove one of the two`];
}

async function loadOne(
  files: PluginFiles,
  part: LoadPluginsOptions["part"],
  imports: ImportOptions,
): Promise<LoadedPlugin | readonly string[]> {
  const incompatible = sdkFaults(files);
  if (incompatible.length > 0) return incompatible;
  const exported = await importDefault(files.schema, "definePluginFacts({ ... })", imports);
  if (typeof exported === "string") return [exported];
  const at = pathOf(files.schema);
  const faults = factsFaults(exported).map((fault) => `${at}: ${fault}`);
  if ("phases" in exported)
    faults.push(`${at}: phases: the module of the facts must not have them: export definePluginFacts({ ... }) there`);
  if (faults.length > 0) return faults;
  const facts = exported as unknown as PluginFacts;
  const codeFault = part === "code" ? await codeFaultOf(files, facts, imports) : undefined;
  return codeFault === undefined ? { facts, files } : [codeFault];
}

const comparedMembers = [
  "name",
  "version",
  "priority",
  "protects",
  "identifies",
  "refuses",
  "schema",
  "credentials",
  "endpoints",
  "kongChecks",
] as const;

/**
 * The fault if the definition cannot be imported, lacks phases, or differs from the facts, which some processes load
 * without the definition; undefined if there is none.
 */
async function codeFaultOf(
  { code }: PluginFiles,
  facts: PluginFacts,
  imports: ImportOptions,
): Promise<string | undefined> {
  const definition = await importDefault(code, "definePlugin({ ...facts, phases })", imports);
  if (typeof definition === "string") return definition;
  const at = pathOf(code);
  if (typeof definition.phases !== "function")
    return `${at}: phases: expected a function (config, context) => phases, not ${typeof definition.phases}`;
  const differing = comparedMembers.find(
    (member) => canonicalJson(definition[member] ?? null) !== canonicalJson(facts[member] ?? null),
  );
  return differing === undefined
    ? undefined
    : `${at}: ${differing} differs from the value in the plugin's facts: write definePlugin({ ...facts, phases })`;
}

async function importDefault(
  url: string,
  expected: string,
  imports: ImportOptions,
): Promise<Readonly<Record<string, unknown>> | string> {
  const at = pathOf(url);
  try {
    const exported = await importModule(url, imports);
    if (isRecord(exported)) return exported;
    return exported === undefined
      ? `${at}: there is no default export: write export default ${expected}`
      : `${at}: the default export is ${Array.isArray(exported) ? "a list" : typeof exported}: expected ${expected}`;
  } catch (error) {
    return describeImportError(url, error);
  }
}

/**
 * A fault if the version range of the SDK in `peerDependencies` of the plugin's package excludes this SDK, or cannot be
 * read. Empty if there is no fault.
 */
function sdkFaults({ manifest }: PluginFiles): readonly string[] {
  if (manifest === null || !isRecord(manifest.content)) return [];
  const { peerDependencies } = manifest.content;
  const range = isRecord(peerDependencies) ? peerDependencies["@sluice/plugin-sdk"] : undefined;
  if (range === undefined) return [];
  const at = `${manifest.file}: peerDependencies: @sluice/plugin-sdk`;
  const contained = typeof range === "string" ? rangeContains(range, sdkVersion) : undefined;
  if (contained === undefined) return [`${at}: ${JSON.stringify(range)} is not a version range such as ^${sdkVersion}`];
  if (contained) return [];
  return [`${at} is ${range}, but this is version ${sdkVersion}: install a version of the plugin for ${sdkVersion}`];
}
