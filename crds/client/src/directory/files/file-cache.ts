/** A cache that rereads a file only when it may have changed. */
import { hash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type FileSettling, stampOf } from "./file-settling.ts";

/** A file as read; the same object while the file is unchanged. */
export interface CachedFile<Value> {
  readonly value: Value;
  /** The file's mtime, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** The file's birth time, in milliseconds since the epoch. */
  readonly bornAt: number;
}

interface Known<Value> {
  readonly stamp: string;
  readonly digest: string;
  /** Whether the file was read so soon after its change that a later change may have the same timestamps. */
  readonly recent: boolean;
  readonly read: CachedFile<Value>;
}

/** Milliseconds. File timestamps are coarse: two changes within this time may look like one. */
const granularity = 100;

/**
 * The text of a file; undefined if the file does not exist. Synchronous, because for small files a round trip through
 * the thread pool takes ten times as long as the call.
 */
export function readTextIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return undefinedIfMissing(error);
  }
}

/**
 * Returns a function that reads a file. Its result is undefined when the file does not exist, or is new and has not
 * settled. It throws when the file cannot be read.
 *
 * @param parse Also receives the previous value of the same path.
 * @param settling Absent: only Sluice writes these files, each in one step.
 */
export function createFileCache<Value>(
  parse: (text: string, before: CachedFile<Value> | undefined) => Value,
  settling?: FileSettling<Value>,
): (path: string) => CachedFile<Value> | undefined {
  const known = new Map<string, Known<Value>>();
  return (path) => {
    const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
    const readAt = Date.now();
    const before = known.get(path);
    if (facts?.isFile() && before && before.stamp === stampOf(facts) && !before.recent) return before.read;
    const text = facts?.isFile() ? readTextIfExists(path) : undefined;
    if (!facts || text === undefined) {
      known.delete(path);
      settling?.forget(path);
      return undefined;
    }
    const stamp = stampOf(facts);
    const digest = hash("sha256", text, "base64");
    const recent = readAt - Number(facts.ctimeMs) < granularity;
    const isSameText = before?.digest === digest;
    if (isSameText && before.stamp === stamp) {
      known.set(path, { ...before, recent });
      return before.read;
    }
    const file = { path, facts, isEmpty: text === "" };
    const parsed = () => (isSameText ? before.read.value : parse(text, before?.read));
    const value = settling && !isSameText ? settling.settle(file, before?.read.value, parsed) : parsed();
    if (value === undefined) return before?.read;
    settling?.accept(file);
    const read = { value, changedAt: Number(facts.mtimeMs), bornAt: Number(facts.birthtimeMs || facts.mtimeMs) };
    known.set(path, { stamp, digest, recent, read });
    return read;
  };
}

export const isResourceFile = (path: string): boolean => /\.(ya?ml|json)$/.test(path);

/**
 * Sorted paths of the wanted files below a folder, relative to it. Hidden files, hidden folders and folders behind
 * links are skipped.
 */
export async function listFiles(folder: string, isWanted: (name: string) => boolean): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = join(below, entry.name);
      // A folder may be removed during the listing.
      if (entry.isDirectory()) await walk(path).catch(undefinedIfMissing);
      else if (isWanted(entry.name)) found.push(path);
    }
  };
  await walk("");
  return found.sort();
}

/** For `catch`: undefined for a missing file; rethrows other errors. */
export function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}
