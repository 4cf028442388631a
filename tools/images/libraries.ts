import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The shared libraries that programs need, with the loader itself: the paths at which the loader finds them on this
 * machine, sorted. What lies below `except` is left out.
 *
 * @throws Error that names the library, when one is missing.
 */
export function librariesOf(programs: readonly string[], except?: string): readonly string[] {
  // `ldd` is the loader's own answer: it knows its cache, its default folders and each program's RUNPATH.
  const text = execFileSync("ldd", programs, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
  const missing = [...text.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name);
  if (missing.length > 0) throw new Error(`${programs.join(", ")}: no ${missing.join(", ")} on this machine`);
  const found = [...text.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
  const here = found.filter((path) => except === undefined || !path.startsWith(`${except}/`));
  return [...new Set([...here, ...nameService(here)])].toSorted();
}

/** Before 2.34 glibc loaded the reading of /etc/hosts and of DNS while it ran, which no list of libraries tells. */
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
  /** Those of the asked files that it brought. */
  readonly files: readonly string[];
  /** Its terms, where the distribution keeps them. */
  readonly copyright: string;
}

/**
 * The packages that files came from, by name.
 *
 * @throws Error when dpkg does not know a file: then nobody could tell what is in the image.
 */
export function packagesOf(files: readonly string[]): readonly SystemPackage[] {
  // A file may be in dpkg's list at the place before the merge of /lib into /usr/lib, or after it.
  const names = new Map(files.flatMap((path) => [path, realpathSync(path)].map((name) => [name, path])));
  const owners = new Map<string, Set<string>>();
  for (const [, owner = "", name = ""] of dpkg(["-S", ...names.keys()]).matchAll(/^(\S+): (\/.*)$/gm)) {
    const asked = names.get(name);
    if (asked !== undefined) owners.set(owner, (owners.get(owner) ?? new Set()).add(asked));
  }
  const known = new Set([...owners.values()].flatMap((some) => [...some]));
  const unknown = files.filter((path) => !known.has(path));
  if (unknown.length > 0) throw new Error(`dpkg does not know which package brought ${unknown.join(", ")}`);
  const format = "$" + "{Package}\t$" + "{Version}\t$" + "{Architecture}\n";
  return [...owners].toSorted().map(([owner, some]) => {
    const [name = "", version = "", architecture = ""] = dpkg(["-W", "-f", format, owner]).trim().split("\t");
    return { name, version, architecture, files: [...some].toSorted(), copyright: `/usr/share/doc/${name}/copyright` };
  });
}

/** Paths that dpkg does not know make it fail, though it has answered for the others. */
function dpkg(args: readonly string[]): string {
  try {
    return execFileSync("dpkg-query", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
