import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const lockRoot = join(import.meta.dirname, "../../..");

/** A package of the lockfile. */
export interface LockedPackage {
  /** The package's folder from the root: node_modules/pino, or the workspace's. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** The hash of the package's archive in npm's form: sha512-<base64>. A workspace has none. */
  readonly integrity?: string;
}

interface LockEntry {
  readonly version?: string;
  readonly name?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly link?: true;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const lock: { readonly packages: Readonly<Record<string, LockEntry>> } = JSON.parse(
  readFileSync(join(lockRoot, "package-lock.json"), "utf8"),
);

/** The package at a path of the lockfile. */
export function lockedAt(path: string): LockedPackage {
  const { version = "", name = nameIn(path), license, integrity } = lock.packages[path] ?? {};
  return { path, name, version, license, integrity };
}

const nameIn = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/** A workspace and its production dependencies. */
export interface DependencyClosure {
  /** The workspace itself and the workspaces that it depends on. */
  readonly workspaces: readonly LockedPackage[];
  /** The third-party packages, at the paths where npm installed them. */
  readonly packages: readonly LockedPackage[];
}

/**
 * Follows the production dependencies of a workspace through the lockfile, resolved as Node does. Packages for other
 * platforms and optional peers are not followed.
 *
 * @param without Names of packages that are not followed.
 * @throws Error when a needed package is not installed.
 */
export function dependencyClosureOf(workspace: string, without: readonly string[]): DependencyClosure {
  const seen = new Set<string>();
  const follow = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { name, needed } of wantedBy(lock.packages[path] ?? {})) {
      const found = without.includes(name) ? undefined : resolve(path, name);
      if (found !== undefined) follow(found);
      else if (needed && !without.includes(name))
        throw new Error(`${name}, which ${path} needs, is missing: run npm ci`);
    }
  };
  follow(workspace);
  const all = [...seen].toSorted().map(lockedAt);
  const isInstalled = ({ path }: LockedPackage) => path.includes("node_modules/");
  return { workspaces: all.filter((one) => !isInstalled(one)), packages: all.filter(isInstalled) };
}

function wantedBy(entry: LockEntry): readonly { readonly name: string; readonly needed: boolean }[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry;
  return [
    ...Object.keys(dependencies).map((name) => ({ name, needed: true })),
    ...Object.keys(optionalDependencies).map((name) => ({ name, needed: false })),
    ...Object.keys(peerDependencies)
      .filter((name) => !peerDependenciesMeta[name]?.optional)
      .map((name) => ({ name, needed: true })),
  ];
}

/** The path at which Node finds a package from a folder; for a workspace, its folder. Undefined: not installed. */
function resolve(from: string, name: string): string | undefined {
  const parts = from.split("/");
  for (let length = parts.length; length >= 0; length--) {
    if (parts[length - 1] === "node_modules") continue;
    const path = [...parts.slice(0, length), "node_modules", name].join("/");
    const entry = lock.packages[path];
    if (entry?.link) return entry.resolved;
    if (entry !== undefined && existsSync(join(lockRoot, path))) return path;
  }
  return undefined;
}
