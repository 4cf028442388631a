import type { Fault } from "../fault.ts";
import { type Import, packageOf } from "../find-imports.ts";
import { isTest } from "../imports.ts";

/** A workspace, and the members of its package.json that decide which packages its files may import. */
export interface Manifest {
  /** The workspace's folder; "" for the root of the repository. */
  readonly folder: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

/**
 * Compares imports with the dependencies of the nearest package.json: each package that a workspace's code imports must
 * be a dependency of the workspace, and each dependency must be imported.
 *
 * Suites, tools and type-only imports may also use the devDependencies of the workspace and of the root. Files
 * below `test` and `tools` may also import the gateway, the operator, the user API and the dependencies of any
 * workspace: npm installs all dependencies together, and a suite uses the same library as the code.
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
