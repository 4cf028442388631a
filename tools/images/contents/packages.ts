import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { consoleFiles } from "../../build/console.ts";
import { sourcesOf } from "../../build/emit.ts";
import { isTest } from "../../check/imports.ts";
import { copiedFile, fileNode, linkNode, type TreeEntry } from "../archive/tree.ts";
import { imagePlaces } from "../command.ts";
import { type DependencyClosure, type LockedPackage, lockRoot } from "./lock.ts";

/** Names of files that only compilers, debuggers, tests, other runtimes and people read, and no program at run time. */
const unread = /\.(map|ts|mts|cts|tsx|flow|md|markdown|a|h|bare)$|(^|[.-])(test|spec)\.[cm]?js$/i;

/** Top-level folders of a package that serve its own development. */
const development = new Set([
  ...["test", "tests", "__tests__", "bench", "benchmark", "benchmarks", "example", "examples"],
  ...["doc", "docs", "coverage", "integration", "scripts"],
]);

/** Files of single packages that Sluice does not load. */
const unloaded: Readonly<Record<string, RegExp>> = {
  // The generated clients and models of every kind: see crds/client/src/cluster/api/kube-config.ts.
  "@kubernetes/client-node": /^dist\/gen\/(apis|models|types)\//,
  // Extensions of Postgres, and the form of the package for `require`.
  "@electric-sql/pglite": /\.(tar\.gz|cjs)$/,
};

const terms = /^(licen[sc]e|notice|copying|copyright)/i;

/** The files of installed packages, unmodified, without those that no program reads. Licence files are kept. */
export function dependencyFiles({ packages }: DependencyClosure): readonly TreeEntry[] {
  return packages.flatMap((package_) =>
    filesOf(join(lockRoot, package_.path))
      .filter((name) => !unloaded[package_.name]?.test(name))
      .map((name) => {
        const from = join(lockRoot, package_.path, name);
        return copiedFile(
          join(imagePlaces.sluice, package_.path, name),
          from,
          statSync(from).mode & 0o111 ? 0o755 : 0o644,
        );
      }),
  );
}

function filesOf(package_: string, below = ""): readonly string[] {
  return readdirSync(join(package_, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return isDropped(entry.name, below === "") ? [] : filesOf(package_, path);
    const stays = entry.isFile() && !entry.name.startsWith(".") && (terms.test(entry.name) || !unread.test(entry.name));
    return stays ? [path] : [];
  });
}

/** Whether a folder is left out. Nested packages have their own entries in the lockfile. */
const isDropped = (name: string, isTop: boolean) =>
  name === "node_modules" || name.startsWith(".") || (isTop && development.has(name));

/**
 * Workspaces in the layout of the repository, with their built programs and the links by which they resolve each
 * other.
 */
export function workspaceFiles(
  { workspaces }: DependencyClosure,
  built: (source: string) => string,
): readonly TreeEntry[] {
  return workspaces.flatMap((workspace) => [
    copiedFile(
      join(imagePlaces.sluice, workspace.path, "package.json"),
      join(lockRoot, workspace.path, "package.json"),
    ),
    ...programs(workspace, built),
    linkNode(join(imagePlaces.sluice, "node_modules", workspace.name), join("../..", workspace.path)),
  ]);
}

/** The built console, where the admin listener looks for it. */
export const consoleEntries = (): readonly TreeEntry[] =>
  [...consoleFiles()].map(([name, path]) => copiedFile(join(imagePlaces.sluice, "gateway/console/build", name), path));

/** The gateway for tests of plugins, which only the package of the plugin SDK contains. */
const HARNESS = /(^|\/)gateway\/src\/plugin-harness\//;

function programs({ path }: LockedPackage, built: (source: string) => string): readonly TreeEntry[] {
  return [...sourcesOf(join(lockRoot, path))]
    .filter(([, source]) => !isTest(source) && !HARNESS.test(source))
    .map(([name, source]) => {
      const script = built(source);
      return fileNode(join(imagePlaces.sluice, path, "build", name), script, script.startsWith("#!") ? 0o755 : 0o644);
    });
}
