import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import type { Import } from "../find-imports.ts";
import { isTest } from "../imports.ts";

const page = "ARCHITECTURE.md";

/** A row of ARCHITECTURE.md's table of the gateway's folders. */
const stageRow = /^\| `(gateway\/src\/[\w-]+)` \|/gm;

/** The gateway's folders in the order of ARCHITECTURE.md, from its text. */
export const stagesOf = (text: string): readonly string[] =>
  [...text.matchAll(stageRow)].map(([, folder = ""]) => folder);

/**
 * Finds imports of a later stage of the gateway, types included. Files of the gateway outside of the stages come after
 * all stages. Tests may import every stage.
 *
 * @param stages In the order of ARCHITECTURE.md: a folder may import itself and the folders before it.
 */
export function checkOrder(imports: readonly Import[], stages: readonly string[]): readonly Fault[] {
  const inGateway = (path: string) => path.startsWith("gateway/src/");
  const positionOf = (path: string) => {
    const at = stages.findIndex((stage) => path.startsWith(`${stage}/`));
    return at < 0 ? stages.length : at;
  };
  return relativeImports(imports)
    .filter(({ file, target }) => inGateway(file) && inGateway(target) && positionOf(target) > positionOf(file))
    .map(({ file, line, target }) => ({
      file,
      line,
      message: `imports ${target}, which comes later in the table of the gateway's stages in ${page}: move what both need to an earlier stage`,
    }));
}

/**
 * Finds import cycles, types included. Of each group of files that import each other it reports one cycle: a shortest
 * one through the first file of the group in alphabetical order. Imports in tests do not count.
 */
export function checkCycles(imports: readonly Import[]): readonly Fault[] {
  const targets = new Map<string, string[]>();
  for (const { file, target } of relativeImports(imports)) {
    const known = targets.get(file);
    if (known === undefined) targets.set(file, [target]);
    else known.push(target);
  }
  const reported = new Set<string>();
  return [...targets.keys()].toSorted().flatMap((file) => {
    if (reported.has(file)) return [];
    const reached = reachedFrom(file, targets);
    if (!reached.has(file)) return [];
    for (const other of reached.keys()) if (reachedFrom(other, targets).has(file)) reported.add(other);
    return [{ file, message: `is in an import cycle: ${pathTo(file, reached).join(" -> ")}` }];
  });
}

/** Breadth first: every file that the imports of `start` lead to, with a file that imports it. */
function reachedFrom(start: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, string> {
  const importers = new Map<string, string>();
  const next = [start];
  for (const file of next) {
    for (const target of targets.get(file) ?? []) {
      if (importers.has(target)) continue;
      importers.set(target, file);
      next.push(target);
    }
  }
  return importers;
}

function pathTo(start: string, importers: ReadonlyMap<string, string>): readonly string[] {
  const path = [start];
  for (let at = importers.get(start); at !== undefined && at !== start; at = importers.get(at)) path.unshift(at);
  return [start, ...path];
}

/** Imports of files by their path, outside of tests. */
function relativeImports(imports: readonly Import[]): readonly (Import & { readonly target: string })[] {
  return imports
    .filter(({ file, specifier }) => specifier.startsWith(".") && !isTest(file))
    .map((found) => ({ ...found, target: posix.join(posix.dirname(found.file), found.specifier) }));
}
