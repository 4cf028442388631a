import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One entry of an image's root file system. All entries belong to root and have no timestamps. */
export type TreeEntry = Folder | File | Link;

interface Named {
  /** From the root of the image, without a slash at the beginning or the end. */
  readonly path: string;
}

export interface Folder extends Named {
  readonly kind: "folder";
  readonly mode: number;
}

export interface File extends Named {
  readonly kind: "file";
  readonly mode: number;
  readonly content: Buffer;
}

interface Link extends Named {
  readonly kind: "link";
  /** The target, as written in the link. */
  readonly to: string;
}

export const folderNode = (path: string, mode = 0o755): Folder => ({ kind: "folder", path, mode });

export const linkNode = (path: string, to: string): Link => ({ kind: "link", path, to });

/** A file, by default world-readable and not executable. */
export const fileNode = (path: string, content: Buffer | string, mode = 0o644): File => ({
  kind: "file",
  path,
  mode,
  content: typeof content === "string" ? Buffer.from(content) : content,
});

/** A file at a path in the image, with the content of a file of this machine. */
export const copiedFile = (path: string, from: string, mode = 0o644): File => fileNode(path, readFileSync(from), mode);

/**
 * Entries sorted by path, a folder before its contents; missing parent folders are added.
 *
 * @throws Error when two entries have the same path.
 */
export function withParentFolders(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  const all = new Map<string, TreeEntry>();
  for (const entry of entries) {
    if (all.has(entry.path)) throw new Error(`${entry.path} is in an image twice`);
    all.set(entry.path, entry);
  }
  for (const { path } of entries) {
    for (let above = dirname(path); above !== "." && !all.has(above); above = dirname(above)) {
      all.set(above, folderNode(above));
    }
  }
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The total size of all files in bytes. */
export const treeSizeOf = (entries: readonly TreeEntry[]): number =>
  entries.reduce((size, entry) => size + (entry.kind === "file" ? entry.content.length : 0), 0);

/** Writes entries below a folder of this machine, owned by the current user. */
export function writeTree(root: string, entries: readonly TreeEntry[]): void {
  mkdirSync(root, { recursive: true });
  for (const entry of withParentFolders(entries)) {
    const place = join(root, entry.path);
    if (entry.kind === "link") symlinkSync(entry.to, place);
    else if (entry.kind === "folder") mkdirSync(place, { recursive: true });
    else writeFileSync(place, entry.content);
    // The mode is set separately, because creation applies the umask.
    if (entry.kind !== "link") chmodSync(place, entry.mode);
  }
}
