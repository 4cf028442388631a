/** Generates the files that derive from the model, and reports files that differ from the generated ones. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crdChartFiles, crdFiles, crdNamesFile, type GeneratedFile } from "./files.ts";
import { entitiesPage, resourcesPage } from "./pages.ts";

const generators: readonly (() => readonly GeneratedFile[])[] = [
  crdFiles,
  crdChartFiles,
  () => [crdNamesFile(), entitiesPage(), resourcesPage()],
];

/**
 * Folders whose YAML and JSON files are all generated, except those in subfolders. A file that is no longer generated
 * must be removed, because kubectl or Helm would apply it.
 */
const generatedFolders = ["crds", "charts/sluice-crds/templates"];

/** All files that are generated from the model, in a fixed order. */
export const generateModelFiles = (): readonly GeneratedFile[] => generators.flatMap((generator) => generator());

export interface FileDifference {
  readonly path: string;
  readonly fault: "differs" | "is missing" | "is not generated any more";
}

/** The differences between the files below `root` and the generated ones. */
export function staleFiles(root: string, files: readonly GeneratedFile[]): readonly FileDifference[] {
  const faulty = files.flatMap(({ path, content }): FileDifference[] => {
    const file = join(root, path);
    if (!existsSync(file)) return [{ path, fault: "is missing" }];
    return readFileSync(file, "utf8") === content ? [] : [{ path, fault: "differs" }];
  });
  const known = new Set(files.map(({ path }) => path));
  const stale = generatedFolders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => /\.(ya?ml|json)$/.test(path) && !known.has(path));
  return [...faulty, ...stale.map((path): FileDifference => ({ path, fault: "is not generated any more" }))];
}

/** Writes the generated files below `root` and removes stale ones. */
export function writeGeneratedFiles(root: string, files: readonly GeneratedFile[]): void {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  for (const { path } of staleFiles(root, files)) {
    const content = contents.get(path);
    if (content === undefined) rmSync(join(root, path));
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
  }
}
