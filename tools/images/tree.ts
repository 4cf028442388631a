import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One thing in the root file system of an image. Everything belongs to root, and nothing has a time. */
export type Entry = Folder | File | Link;

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

export interface Link extends Named {
  readonly kind: "link";
  /** What it names, as it is written in the link. */
  readonly to: string;
}

export const folder = (path: string, mode = 0o755): Folder => ({ kind: "folder", path, mode });

export const link = (path: string, to: string): Link => ({ kind: "link", path, to });

/** A file that everybody may read, and run when `mode` says so. */
export const file = (path: string, content: Buffer | string, mode = 0o644): File => ({
  kind: "file",
  path,
  mode,
  content: typeof content === "string" ? Buffer.from(content) : content,
});

/** A file of this machine, at a place in the image. */
export const copied = (path: string, from: string, mode = 0o644): File => file(path, readFileSync(from), mode);

/**
 * Entries in the order of their paths, a folder before what it holds; folders that nobody named are added.
 *
 * @throws Error when two entries have one path.
 */
export function complete(entries: readonly Entry[]): readonly Entry[] {
  const all = new Map<string, Entry>();
  for (const entry of entries) {
    if (all.has(entry.path)) throw new Error(`${entry.path} is in an image twice`);
    all.set(entry.path, entry);
  }
  for (const { path } of entries) {
    for (let above = dirname(path); above !== "." && !all.has(above); above = dirname(above)) {
      all.set(above, folder(above));
    }
  }
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Bytes of all files. */
export const sizeOf = (entries: readonly Entry[]): number =>
  entries.reduce((size, entry) => size + (entry.kind === "file" ? entry.content.length : 0), 0);

/** Writes entries below a folder of this machine; whoever does it owns them. */
export function writeTree(root: string, entries: readonly Entry[]): void {
  mkdirSync(root, { recursive: true });
  for (const entry of complete(entries)) {
    const place = join(root, entry.path);
    if (entry.kind === "link") symlinkSync(entry.to, place);
    else if (entry.kind === "folder") mkdirSync(place, { recursive: true });
    else writeFileSync(place, entry.content);
    // Apart from what makes them, because of the umask.
    if (entry.kind !== "link") chmodSync(place, entry.mode);
  }
}
