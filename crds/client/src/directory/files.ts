/** Reads files again only when they changed. */
import { hash } from "node:crypto";
import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** A file as it was read; the very same object as long as the file is the same. */
export interface Read<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch: the last change of its content, and its making. */
  readonly changedAt: number;
  readonly bornAt: number;
}

export interface FileCache<Value> {
  /** Undefined: there is no such file. Rejects when it cannot be read. */
  read(path: string): Promise<Read<Value> | undefined>;
  /** It was read, and is the file that was read; only an edit at that very moment would not be seen. */
  isRead(path: string): boolean;
  /** Forgets all files but these. */
  keep(paths: ReadonlySet<string>): void;
}

interface Known<Value> {
  readonly stamp: string;
  readonly digest: string;
  /** Read so soon after its change that a further change may carry the same times. */
  readonly recent: boolean;
  readonly read: Read<Value>;
}

/** File times are coarse: two changes within this many milliseconds may look like one. */
const granularity = 100;

/**
 * Milliseconds for which a file that became empty counts as what it was: many editors, and a shell's `>`, empty a file
 * before they write it anew, and a look in between would take everything in it down.
 */
const emptyForAMoment = 500;

/**
 * Undefined: there is no such file. Synchronous, like the look at its times: for small files each way through the
 * thread pool costs ten times the call.
 */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return absent(error);
  }
}

const factsOf = (path: string): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false });

const stampOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

/** `parse` also gets the value before, of the same path. */
export function createFileCache<Value>(
  parse: (text: string, before: Read<Value> | undefined) => Value,
): FileCache<Value> {
  const known = new Map<string, Known<Value>>();
  return {
    async read(path) {
      const facts = factsOf(path);
      if (!facts?.isFile()) {
        known.delete(path);
        return undefined;
      }
      const stamp = stampOf(facts);
      const before = known.get(path);
      if (before && before.stamp === stamp && !before.recent) return before.read;
      const readAt = Date.now();
      const text = textOf(path);
      if (text === undefined) return undefined;
      const justEmptied = text === "" && (facts.size > 0n || readAt - Number(facts.ctimeMs) < emptyForAMoment);
      if (before && justEmptied) return before.read;
      const digest = hash("sha256", text, "base64");
      const recent = readAt - Number(facts.ctimeMs) < granularity;
      const read =
        before?.stamp === stamp && before.digest === digest
          ? before.read
          : {
              value: before?.digest === digest ? before.read.value : parse(text, before?.read),
              changedAt: Number(facts.mtimeMs),
              bornAt: Number(facts.birthtimeMs || facts.mtimeMs),
            };
      known.set(path, { stamp, digest, recent, read });
      return read;
    },
    isRead(path) {
      const facts = factsOf(path);
      return facts !== undefined && known.get(path)?.stamp === stampOf(facts);
    },
    keep(paths) {
      for (const path of known.keys()) if (!paths.has(path)) known.delete(path);
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
      if (entry.isDirectory()) await look(path).catch(absent);
      else if (isWanted(entry.name)) found.push(path);
    }
  };
  await look("");
  return found.sort();
}

/** For `catch`: undefined for a file that is not there, the error otherwise. */
export function absent(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}
