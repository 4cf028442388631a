/** Finds the modules of a plugin that a setting names: a folder, or an installed package. */
import { readFileSync, statSync } from "node:fs";
import { findPackageJSON, registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isRecord } from "@sluice/plugin-sdk";

export interface PluginFiles {
  /** The setting's entry: `./my-plugin` or `@acme/sluice-plugin-x`. */
  readonly entry: string;
  /** URL of the module that exports the definition with its phases. */
  readonly code: string;
  /** URL of the module that exports the facts. */
  readonly schema: string;
  /** Null: the folder has no package.json. */
  readonly manifest: { readonly file: string; readonly content: unknown } | null;
}

/** The modules, or the reason why they cannot be found and what to change. */
export type LocatedPlugin = { readonly files: PluginFiles; readonly fault?: undefined } | { readonly fault: string };

/** @param from Absolute path of the folder from which relative paths and packages are resolved. */
export function locatePlugin(entry: string, from: string): LocatedPlugin {
  if (/^(\.{1,2}(\/|$)|\/)/.test(entry)) return inFolder(entry, resolve(from, entry));
  if (/^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(entry)) return inPackage(entry, from);
  return { fault: "is not a folder or a package: write a path that begins with ./, ../ or /, or a package's name" };
}

function inFolder(entry: string, folder: string): LocatedPlugin {
  const kind = kindOf(folder);
  if (kind === null) return { fault: `there is no folder ${folder}: relative paths start at the working directory` };
  if (kind === "file") return { fault: `${folder} is a file: name the folder that contains it` };
  const [code, schema] = ["index", "schema"].map((name) =>
    [`${name}.ts`, `${name}.js`].map((file) => join(folder, file)).find((file) => kindOf(file) === "file"),
  );
  const manifest = join(folder, "package.json");
  if (code !== undefined && schema !== undefined)
    return withManifest(entry, { code: pathToFileURL(code).href, schema: pathToFileURL(schema).href, manifest });
  const unpacked = unpackedPackage(entry, folder, manifest);
  if (unpacked !== null) return unpacked;
  return schema === undefined
    ? { fault: `${folder} has no schema.ts or schema.js: export the plugin's facts from there` }
    : { fault: `${folder} has no index.ts or index.js: export the plugin's definition from there` };
}

/**
 * The modules that the package.json of a folder exports: an npm package often has its modules in a subfolder. Null if
 * the package.json lacks `name` or `exports`, without which a package cannot be imported by its own name.
 */
function unpackedPackage(entry: string, folder: string, file: string): LocatedPlugin | null {
  const { manifest, fault } = readManifest(file);
  if (fault !== undefined) return { fault };
  const content = manifest?.content;
  if (!isRecord(content) || typeof content.name !== "string" || !isRecord(content.exports)) return null;
  const base = pathToFileURL(join(folder, "index.js")).href;
  try {
    const [code, schema] = [resolveFrom(content.name, base), resolveFrom(`${content.name}/schema`, base)];
    return { files: { entry, code, schema, manifest } };
  } catch (error) {
    return { fault: exportFault(error) ?? `${file}: exports: ${(error as Error).message}` };
  }
}

function inPackage(entry: string, from: string): LocatedPlugin {
  const base = pathToFileURL(join(from, "index.js")).href;
  try {
    const code = resolveFrom(entry, base);
    return withManifest(entry, {
      code,
      schema: resolveFrom(`${entry}/schema`, base),
      manifest: findPackageJSON(entry, base),
    });
  } catch (error) {
    const unexported = exportFault(error);
    if (unexported !== undefined) return { fault: unexported };
    const hint = kindOf(resolve(from, entry)) === "folder" ? `, or write ./${entry} for the folder` : "";
    return { fault: `there is no such package in node_modules of ${from} or above: install it there${hint}` };
  }
}

function exportFault(error: unknown): string | undefined {
  const { code, message } = error as Error & { readonly code?: string };
  return code === "ERR_PACKAGE_PATH_NOT_EXPORTED"
    ? `the package does not export "." and "./schema": ${message}; add both to "exports" in its package.json`
    : undefined;
}

function withManifest(
  entry: string,
  { manifest: file, ...modules }: Pick<PluginFiles, "code" | "schema"> & { readonly manifest: string | undefined },
): LocatedPlugin {
  const { manifest, fault } = readManifest(file);
  return fault === undefined ? { files: { entry, ...modules, manifest } } : { fault };
}

type ReadManifest =
  | { readonly manifest: PluginFiles["manifest"]; readonly fault?: undefined }
  | { readonly manifest?: undefined; readonly fault: string };

function readManifest(file: string | undefined): ReadManifest {
  if (file === undefined || kindOf(file) !== "file") return { manifest: null };
  try {
    return { manifest: { file, content: JSON.parse(readFileSync(file, "utf8")) } };
  } catch (error) {
    return { fault: `${file} cannot be read: ${(error as Error).message}` };
  }
}

function kindOf(path: string): "folder" | "file" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  return stats.isDirectory() ? "folder" : "file";
}

/** The path of a module, for messages. */
export const pathOf = (url: string): string => (url.startsWith("file:") ? fileURLToPath(url) : url);

const SDK = "@sluice/plugin-sdk";
const GENERATION = "?sluice-generation=";
const generationIn = (url: string): string => /\?sluice-generation=\d+$/.exec(url)?.[0] ?? "";

/**
 * The URL under which a module is imported again: Node imports each URL once per thread, and keeps the module. The
 * modules that it imports get the same suffix (see `useOwnSdk`), except CommonJS modules, which Node keeps by their
 * path.
 *
 * @param generation With 0, the URL is returned unchanged.
 */
export const withGeneration = (url: string, generation: number): string =>
  generation === 0 ? url : `${url}${GENERATION}${generation}`;

export const withoutGeneration = (text: string): string => text.replaceAll(/\?sluice-generation=\d+/g, "");
/** Prefix of a specifier that is resolved from `base`: `import.meta.resolve` always resolves from its own module. */
const MARK = "sluice-plugin:";
let base = "";
let isHooked = false;

function resolveFrom(specifier: string, parent: string): string {
  useOwnSdk();
  base = parent;
  return import.meta.resolve(MARK + specifier);
}

/**
 * Makes every import of the SDK in this thread resolve to the SDK of this process, even if the importing plugin has
 * installed its own SDK: two copies of the SDK would have different classes and caches. A plugin's folder therefore
 * needs neither an installed SDK nor a package.json. If a module is imported again (`withGeneration`), so are the
 * modules that it imports.
 */
export function useOwnSdk(): void {
  if (isHooked) return;
  isHooked = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === SDK) return next(specifier, { ...context, parentURL: import.meta.url });
      if (specifier.startsWith(MARK)) return next(specifier.slice(MARK.length), { ...context, parentURL: base });
      const resolved = next(specifier, context);
      const generation = generationIn(context.parentURL ?? "");
      return generation !== "" && resolved.url.startsWith("file:")
        ? { ...resolved, url: resolved.url + generation }
        : resolved;
    },
  });
}
