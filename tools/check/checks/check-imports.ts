import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import { type Import, packageOf } from "../find-imports.ts";
import { allowedNodeExports, type ImportRule, importRules, isDevelopment, isTest } from "../imports.ts";

/** The folder of one plugin. */
const pluginFolder = /^gateway\/plugins\/[^/]+\//;
const pluginLists = ["gateway/plugins/index.ts", "gateway/plugins/schemas.ts"];

/** The rule that applies to a file, or undefined when none does. */
export function importRuleOf(path: string, table: readonly ImportRule[] = importRules): ImportRule | undefined {
  return table
    .filter(({ folder }) => path.startsWith(`${folder}/`))
    .toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

/**
 * Compares imports with the table of import rules.
 *
 * @param workspaces The folders of the workspaces: a relative import must not leave the workspace of its file, except
 * that tests may import files below `test` and `tools`, and files there may import files of every workspace.
 */
export function checkImports(
  imports: readonly Import[],
  workspaces: readonly string[],
  table: readonly ImportRule[] = importRules,
): readonly Fault[] {
  const workspaceOf = (path: string) =>
    [...workspaces, "test", "tools"].find((folder) => path.startsWith(`${folder}/`));
  return imports.flatMap(({ file, line, specifier, names }): Fault[] => {
    const fault = (message: string) => [{ file, line, message }];
    const rule = importRuleOf(file, table);
    if (rule === undefined) return fault("no rule of tools/check/imports.ts covers this file");
    if (specifier.startsWith(".")) {
      const target = posix.join(posix.dirname(file), specifier);
      const plugin = pluginFolder.exec(target)?.[0];
      if (plugin !== undefined && !file.startsWith(plugin) && !pluginLists.includes(file)) {
        return fault(
          `must not import ${target}: only ${pluginLists.join(" and ")} import from inside a plugin's folder`,
        );
      }
      if (workspaceOf(target) === workspaceOf(file)) return [];
      if (isDevelopment(target))
        return isTest(file) ? [] : fault(`must not import ${target}: only suites and tools do`);
      if (isDevelopment(file)) return [];
      return fault(`must not import ${target} by a path: name its package`);
    }
    const name = packageOf(specifier) ?? specifier;
    if (isAllowed({ file, name, names, rule })) return [];
    return fault(`must not import ${name}: ${rule.because}`);
  });
}

function isAllowed(found: { file: string; name: string; names: Import["names"]; rule: ImportRule }): boolean {
  const { file, name, names, rule } = found;
  if (name.startsWith("@sluice/")) return rule.internal.includes(name);
  // A suite starts real servers, so it may import the modules in `not`.
  if (isTest(file) || !rule.not.includes(name)) return true;
  return name.startsWith("node:") && (names?.every((taken) => allowedNodeExports[name]?.includes(taken)) ?? false);
}
