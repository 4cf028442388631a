/** The files of the built console, read once and kept in memory: less than a megabyte. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, extname, join } from "node:path";

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The compressed forms, smallest first. */
  readonly codings: readonly { readonly name: "br" | "gzip"; readonly bytes: Buffer }[];
  /** A hash of the content. */
  readonly tag: string;
  /** Whether the name contains a hash of the content, so that the content of this name never changes. */
  readonly isHashed: boolean;
}

/** By path below /console/. */
type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

/** Found by the package, because the built form of this file is in another folder than the source. */
const folder = join(dirname(findPackageJSON(import.meta.url) ?? ""), "console/build");

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** The extensions of the compressed forms, as the build writes them beside each file. */
const codings = [
  { name: "br", extension: ".br" },
  { name: "gzip", extension: ".gz" },
] as const;

let read: ConsoleFiles | undefined;

/**
 * The files by their names; null: the console is not built. A request is looked up among these names, so no name in a
 * URL reaches the file system.
 */
export function readConsoleFiles(): ConsoleFiles | null {
  if (read !== undefined) return read;
  let names: readonly string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return null;
  }
  const load = (name: string) => readFileSync(join(folder, name));
  const all = new Map<string, ConsoleFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const bytes = load(name);
    const built = codings.filter(({ extension }) => names.includes(`${name}${extension}`));
    all.set(name, {
      type,
      bytes,
      codings: built.map(({ name: coding, extension }) => ({ name: coding, bytes: load(`${name}${extension}`) })),
      tag: hash("sha256", bytes).slice(0, 16),
      isHashed: name.startsWith("assets/"),
    });
  }
  read = all;
  return read;
}
