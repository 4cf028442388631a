/** Generates the repository's generated files, and reports those that differ. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crdChartFiles, crdFiles, type GeneratedFile } from "./files.ts";
import { entitiesPage, pluginsPage, resourcesPage } from "./pages.ts";

/** All generators, one per line. */
const generators: readonly (() => readonly GeneratedFile[])[] = [
  crdFiles,
  crdChartFiles,
  () => [entitiesPage(), pluginsPage(), resourcesPage()],
];

/** Folders whose own files (not those in folders below) are all generated: a stale file would be applied too. */
const generatedFolders = ["crds", "charts/sluice-crds/templates"];

/** All files that are generated from the model, in a fixed order. */
export const generate = (): readonly GeneratedFile[] => generators.flatMap((generator) => generator());

export interface FileDifference {
  readonly path: string;
  readonly fault: "differs" | "is missing" | "is not generated any more";
}

/** The differences between the files below `root` and the generated ones. */
export function staleFiles(root: string, files: readonly GeneratedFile[]): readonly FileDifference[] {
  const faulty = files.flatMap(({ path, content }): FileDifference[] => {
    const found = readText(join(root, path));
    if (found === content) return [];
    return [{ path, fault: found === undefined ? "is missing" : "differs" }];
  });
  const known = new Set(files.map(({ path }) => path));
  const stale = generatedFolders
    .flatMap((folder) => listFiles(root, folder))
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

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function listFiles(root: string, folder: string): readonly string[] {
  try {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => `${folder}/${entry.name}`);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

const isAbsent = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";
