import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The shared libraries of programs and the loader itself: the paths at which the loader finds them on this machine,
 * sorted. Libraries below `except` are left out.
 *
 * @throws Error that names a missing library.
 */
export function librariesOf(programs: readonly string[], except?: string): readonly string[] {
  // `ldd` asks the loader, which knows its cache, its default folders and each program's RUNPATH.
  const text = execFileSync("ldd", programs, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
  const missing = [...text.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name);
  if (missing.length > 0) throw new Error(`${programs.join(", ")}: no ${missing.join(", ")} on this machine`);
  const found = [...text.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
  const here = found.filter((path) => except === undefined || !path.startsWith(`${except}/`));
  return [...new Set([...here, ...nameService(here)])].toSorted();
}

/** Before 2.34 glibc loaded the modules for /etc/hosts and DNS at run time, so `ldd` does not list them. */
function nameService(libraries: readonly string[]): readonly string[] {
  const libc = libraries.find((path) => path.endsWith("/libc.so.6"));
  if (libc === undefined) return [];
  return ["libnss_files.so.2", "libnss_dns.so.2"].map((name) => join(dirname(libc), name)).filter(existsSync);
}

/** A package of the machine's distribution. */
export interface SystemPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The given files that belong to the package. */
  readonly files: readonly string[];
  /** The path at which the distribution keeps the package's licence terms. */
  readonly copyright: string;
}

/**
 * The packages that own the files, sorted by name.
 *
 * @throws Error when dpkg does not know a file: the SBOM would be incomplete.
 */
export function packagesOf(files: readonly string[]): readonly SystemPackage[] {
  // dpkg may list a file under its path before or after the merge of /lib into /usr/lib.
  const names = new Map(files.flatMap((path) => [path, realpathSync(path)].map((name) => [name, path])));
  const owners = new Map<string, Set<string>>();
  for (const [, owner = "", name = ""] of dpkg(["-S", ...names.keys()]).matchAll(/^(\S+): (\/.*)$/gm)) {
    const asked = names.get(name);
    if (asked !== undefined) owners.set(owner, (owners.get(owner) ?? new Set()).add(asked));
  }
  const known = new Set([...owners.values()].flatMap((some) => [...some]));
  const unknown = files.filter((path) => !known.has(path));
  if (unknown.length > 0) throw new Error(`dpkg does not know which package contains ${unknown.join(", ")}`);
  const format = "$" + "{Package}\t$" + "{Version}\t$" + "{Architecture}\n";
  return [...owners].toSorted().map(([owner, some]) => {
    const [name = "", version = "", architecture = ""] = dpkg(["-W", "-f", format, owner]).trim().split("\t");
    return { name, version, architecture, files: [...some].toSorted(), copyright: `/usr/share/doc/${name}/copyright` };
  });
}

/** The output of dpkg-query, even if it fails: it fails if it does not know a path, but prints the paths it knows. */
function dpkg(args: readonly string[]): string {
  try {
    return execFileSync("dpkg-query", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
