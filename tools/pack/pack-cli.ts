/**
 * The npm package of the command `sluice`: the workspaces in their built form and their dependencies, with the same
 * files as in the image `sluice`. All are bundled, so that an installation has exactly the versions of the lockfile.
 * Only Node is installed from the registry, because each platform needs its own.
 */
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { buildPrograms } from "../build/programs.ts";
import { type TreeEntry, writeTree } from "../images/archive/tree.ts";
import { imagePlaces } from "../images/command.ts";
import { type DependencyClosure, dependencyClosureOf, lockRoot } from "../images/contents/lock.ts";
import { consoleEntries, dependencyFiles, workspaceFiles } from "../images/contents/packages.ts";
import { workloads } from "../images/contents/workloads.ts";
import { npmPack } from "./npm-pack.ts";

/** Writes the package into the folder `to`, which is created, and returns the path of the tarball. */
export async function packCli(to: string): Promise<string> {
  const stage = resolve(to, "sluice");
  rmSync(stage, { recursive: true, force: true });
  await buildPrograms();
  const { workspace, without } = workloads.sluice;
  const closure = dependencyClosureOf(workspace, without);
  const entries = [...workspaceFiles(closure), ...consoleEntries(), ...dependencyFiles(closure)];
  writeTree(
    stage,
    entries.flatMap((entry) => packaged(entry, closure)),
  );
  for (const file of ["LICENSE", "THIRD_PARTY_LICENSES.md"]) cpSync(join(lockRoot, file), join(stage, file));
  mkdirSync(join(stage, "bin"));
  for (const command of commands) {
    cpSync(join(import.meta.dirname, "sluice.sh"), join(stage, "bin", command));
    chmodSync(join(stage, "bin", command), 0o755);
  }
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifestOf(closure), null, 2)}\n`);
  try {
    return await npmPack(stage, resolve(to));
  } finally {
    rmSync(stage, { recursive: true });
  }
}

const commands = ["sluice", "kubectl-sluice"];

/** An entry of the image at its path in the package. Workspaces are below `node_modules`: npm extracts no links. */
function packaged(entry: TreeEntry, { workspaces }: DependencyClosure): readonly TreeEntry[] {
  if (entry.kind === "link") return [];
  const path = entry.path.slice(imagePlaces.sluice.length + 1);
  // The longest path comes first: gateway/plugins, then gateway.
  const owner = workspaces
    .toSorted((a, b) => b.path.length - a.path.length)
    .find((workspace) => path.startsWith(`${workspace.path}/`));
  return [{ ...entry, path: owner ? `node_modules/${owner.name}${path.slice(owner.path.length)}` : path }];
}

function manifestOf({ workspaces, packages }: DependencyClosure): object {
  const top = packages.filter(({ path }) => path.lastIndexOf("node_modules/") === 0);
  const bundled = [...workspaces, ...top].map(({ name, version }) => [name, version] as const).toSorted();
  const { version, description, license, optionalDependencies } = manifest;
  return {
    name: "sluice",
    version,
    description,
    license,
    type: "module",
    os: ["linux", "darwin"],
    bin: Object.fromEntries(commands.map((command) => [command, `bin/${command}`])),
    dependencies: Object.fromEntries(bundled),
    bundleDependencies: bundled.map(([name]) => name),
    optionalDependencies,
  };
}
