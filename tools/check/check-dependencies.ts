import type { Fault } from "./fault.ts";
import { type Import, packageOf } from "./find-imports.ts";
import { isTest } from "./imports.ts";

/** What a package.json says that its files may import. */
export interface Manifest {
  /** The workspace's folder, "" for the root. */
  readonly folder: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

/**
 * Compares imports with the dependencies of the package.json that is responsible: each package that a workspace's
 * own code imports is a dependency of it, and each dependency is imported.
 *
 * Types come from the root's devDependencies too. Suites may import those altogether and, below `test` and `tools`, what any
 * workspace depends on: npm installs it beside them, and a suite talks to the very library that the code uses.
 */
export function checkDependencies(imports: readonly Import[], manifests: readonly Manifest[]): readonly Fault[] {
  const rootDependencies = manifests.find(({ folder }) => folder === "")?.devDependencies ?? [];
  const anywhere = manifests.flatMap(({ dependencies }) => dependencies);
  const workspaces = manifests.filter(({ folder }) => folder !== "");
  const owner = (file: string) => workspaces.find(({ folder }) => file.startsWith(`${folder}/`));

  const undeclared = imports.flatMap(({ file, line, specifier, names }): Fault[] => {
    const name = packageOf(specifier);
    if (name === undefined) return [];
    const workspace = owner(file);
    const development = isTest(file) || names?.length === 0;
    const allowed = [
      ...(workspace?.dependencies ?? []),
      ...(development ? [...(workspace?.devDependencies ?? []), ...rootDependencies] : []),
      ...(workspace === undefined ? [...anywhere, "@sluice/gateway", "@sluice/operator", "@sluice/user-api"] : []),
    ];
    if (allowed.includes(name)) return [];
    const place = workspace === undefined ? "package.json" : `${workspace.folder}/package.json`;
    return [{ file, line, message: `imports ${name}, which ${place} does not name` }];
  });

  const unused = workspaces.flatMap(({ folder, dependencies }) => {
    const used = new Set(
      imports.filter(({ file }) => file.startsWith(`${folder}/`)).map(({ specifier }) => packageOf(specifier)),
    );
    return dependencies
      .filter((name) => !used.has(name))
      .map((name) => ({ file: `${folder}/package.json`, message: `depends on ${name}, which no file imports` }));
  });
  return [...undeclared, ...unused];
}
