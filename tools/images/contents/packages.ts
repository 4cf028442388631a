import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { consoleFiles } from "../../build/console.ts";
import { type BuiltWorkspace, builtFiles } from "../../build/programs.ts";
import { copiedFile, linkNode, type TreeEntry } from "../archive/tree.ts";
import { imagePlaces } from "../command.ts";
import { type DependencyClosure, lockRoot } from "./lock.ts";

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
  // The forms for browsers, other bundlers and React Native, and the form for `require`: see axios' package.json.
  axios: /^dist\/(?!node\/)/,
  // The forms for browsers.
  "node-forge": /^(dist|flash)\//,
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
 * The built workspaces in the layout of the repository, with the links by which they resolve each other.
 * `buildPrograms` must have been called.
 */
export function workspaceFiles({ workspaces }: DependencyClosure): readonly TreeEntry[] {
  return workspaces.flatMap(({ path, name }) => [
    copiedFile(join(imagePlaces.sluice, path, "package.json"), join(lockRoot, path, "package.json")),
    ...programs(path as BuiltWorkspace),
    linkNode(join(imagePlaces.sluice, "node_modules", name), join("../..", path)),
  ]);
}

/** The built console, where the admin listener looks for it. */
export const consoleEntries = (): readonly TreeEntry[] =>
  [...consoleFiles()].map(([name, path]) => copiedFile(join(imagePlaces.sluice, "gateway/console/build", name), path));

/** The gateway for tests of plugins, which only the package of the plugin SDK contains. */
const HARNESS = "plugin-harness/index.js";

function programs(workspace: BuiltWorkspace): readonly TreeEntry[] {
  return builtFiles(workspace)
    .filter((name) => name !== HARNESS)
    .map((name) => {
      const from = join(lockRoot, workspace, "build", name);
      return copiedFile(
        join(imagePlaces.sluice, workspace, "build", name),
        from,
        statSync(from).mode & 0o111 ? 0o755 : 0o644,
      );
    });
}
