/** A cache that rereads a file only when it has changed. */
import { hash } from "node:crypto";
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileSettling } from "./file-settling.ts";

/** A file as read; the same object as long as the file is unchanged. */
export interface CachedFile<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch: the file's mtime and its birth time. */
  readonly changedAt: number;
  readonly bornAt: number;
}

export interface FileCache<Value> {
  /** Undefined: the file does not exist. Rejects when it cannot be read. */
  read(path: string): Promise<CachedFile<Value> | undefined>;
  /** Whether the file is unchanged since it was read; only an edit at the very moment of the read would be missed. */
  isCurrent(path: string): boolean;
  /** Drops all other files from the cache. */
  retainOnly(paths: ReadonlySet<string>): void;
}

interface Known<Value> {
  readonly stamp: string;
  readonly digest: string;
  /** Read so soon after its change that a later change may have the same timestamps. */
  readonly recent: boolean;
  readonly read: CachedFile<Value>;
}

/** Milliseconds. File timestamps are coarse: two changes within this time may look like one. */
const granularity = 100;

/**
 * Undefined: the file does not exist. Synchronous like the stat: for small files a round trip through the thread pool
 * costs ten times the call.
 */
export function readTextIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return undefinedIfMissing(error);
  }
}

const factsOf = (path: string): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false });

const stampOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

export interface FileCacheOptions<Value> {
  /** Absent: only Sluice writes these files, each in one step. */
  readonly patience?: FileSettling<Value>;
  /** Called when a file has not settled yet, with the milliseconds after which to reread it. */
  readonly onWait?: (path: string, wait: number) => void;
}

/** `parse` also receives the previous value of the same path. */
export function createFileCache<Value>(
  parse: (text: string, before: CachedFile<Value> | undefined) => Value,
  { patience, onWait }: FileCacheOptions<Value> = {},
): FileCache<Value> {
  const known = new Map<string, Known<Value>>();
  return {
    async read(path) {
      const facts = factsOf(path);
      if (!facts?.isFile()) {
        known.delete(path);
        patience?.forget(path);
        return undefined;
      }
      const stamp = stampOf(facts);
      const before = known.get(path);
      if (before && before.stamp === stamp && !before.recent) return before.read;
      const readAt = Date.now();
      const text = readTextIfExists(path);
      if (text === undefined) return undefined;
      const digest = hash("sha256", text, "base64");
      const parsed = before?.digest === digest ? before.read.value : parse(text, before?.read);
      const file = { path, facts, isEmpty: text === "" };
      const change = { before: before?.read.value, now: parsed };
      const wait = before?.digest === digest ? 0 : (patience?.waitFor(file, change) ?? 0);
      if (wait > 0) {
        onWait?.(path, wait);
        return before?.read;
      }
      patience?.accept(file);
      const recent = readAt - Number(facts.ctimeMs) < granularity;
      const read =
        before?.stamp === stamp && before.digest === digest
          ? before.read
          : {
              value: parsed,
              changedAt: Number(facts.mtimeMs),
              bornAt: Number(facts.birthtimeMs || facts.mtimeMs),
            };
      known.set(path, { stamp, digest, recent, read });
      return read;
    },
    isCurrent(path) {
      const facts = factsOf(path);
      return facts !== undefined && known.get(path)?.stamp === stampOf(facts);
    },
    retainOnly(paths) {
      for (const path of known.keys()) {
        if (paths.has(path)) continue;
        known.delete(path);
        patience?.forget(path);
      }
    },
  };
}

export const isResourceFile = (path: string): boolean => /\.(ya?ml|json)$/.test(path);

/** Sorted paths of files below a folder, relative to it, without hidden files and folders behind links. */
export async function listFiles(folder: string, isWanted: (name: string) => boolean): Promise<readonly string[]> {
  const found: string[] = [];
  const look = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = join(below, entry.name);
      // A folder may be removed during the listing.
      if (entry.isDirectory()) await look(path).catch(undefinedIfMissing);
      else if (isWanted(entry.name)) found.push(path);
    }
  };
  await look("");
  return found.sort();
}

/** For `catch`: undefined for a missing file; rethrows other errors. */
export function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}
