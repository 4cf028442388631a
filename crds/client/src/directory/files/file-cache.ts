/** Reads files again only when they changed. */
import { hash } from "node:crypto";
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileSettling } from "./file-settling.ts";

/** A file as it was read; the very same object as long as the file is the same. */
export interface CachedFile<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch: the last change of its content, and its making. */
  readonly changedAt: number;
  readonly bornAt: number;
}

export interface FileCache<Value> {
  /** Undefined: there is no such file. Rejects when it cannot be read. */
  read(path: string): Promise<CachedFile<Value> | undefined>;
  /** It was read, and is the file that was read; only an edit at that very moment would not be seen. */
  isCurrent(path: string): boolean;
  /** Forgets all files but these. */
  retainOnly(paths: ReadonlySet<string>): void;
}

interface Known<Value> {
  readonly stamp: string;
  readonly digest: string;
  /** Read so soon after its change that a further change may carry the same times. */
  readonly recent: boolean;
  readonly read: CachedFile<Value>;
}

/** File times are coarse: two changes within this many milliseconds may look like one. */
const granularity = 100;

/**
 * Undefined: there is no such file. Synchronous, like the look at its times: for small files each way through the
 * thread pool costs ten times the call.
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
  /** Absent: only writers of ours write these files, each in one step. */
  readonly patience?: FileSettling<Value>;
  /** Told when a file does not count yet, with the milliseconds after which to look at it again. */
  readonly onWait?: (path: string, wait: number) => void;
}

/** `parse` also gets the value before, of the same path. */
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

/** Paths of files below a folder, relative to it and sorted; hidden ones and folders behind links are left out. */
export async function listFiles(folder: string, isWanted: (name: string) => boolean): Promise<readonly string[]> {
  const found: string[] = [];
  const look = async (below: string): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = join(below, entry.name);
      // A folder may go while we look.
      if (entry.isDirectory()) await look(path).catch(undefinedIfMissing);
      else if (isWanted(entry.name)) found.push(path);
    }
  };
  await look("");
  return found.sort();
}

/** For `catch`: undefined for a file that is not there, the error otherwise. */
export function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}
