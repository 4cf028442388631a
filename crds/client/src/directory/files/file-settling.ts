/**
 * Decides when a file written by other programs has settled; until then its previous content counts. A reader may see a
 * file in the middle of a write, and half a file may lack a protecting plugin.
 */
import type { BigIntStats } from "node:fs";

export interface FileSettling<Value> {
  /**
   * Milliseconds for which the file must stay unchanged before it counts; 0: it counts now.
   *
   * @param change The content that counts (undefined for a new file) and the content now.
   */
  waitFor(file: ObservedFile, change: { readonly before: Value | undefined; readonly now: Value }): number;
  /** The file's present state counts. */
  accept(file: ObservedFile): void;
  /** The file was removed. */
  forget(path: string): void;
}

export interface ObservedFile {
  readonly path: string;
  readonly facts: BigIntStats;
  readonly isEmpty: boolean;
}

export interface FileSettlingOptions<Value> {
  /** Milliseconds. See `SLUICE_UNPROTECT_WAIT`. */
  readonly unprotectWait: number;
  /** Describes the protection that the change removes; null if none. */
  readonly lostProtection: (before: Value, now: Value) => string | null;
  /** Called once for each change that waits because it removes protection. */
  readonly onWait: (path: string, lost: string) => void;
}

/** Milliseconds for which the file must be unchanged and no other file may change. */
const SETTLE = 150;
/** Milliseconds after which changes of other files are ignored. */
const MAX_SETTLE = 1000;

interface ObservedChange {
  readonly stamp: string;
  /** By performance.now(). */
  readonly since: number;
  isTold: boolean;
}

export function createFileSettling<Value>({
  unprotectWait,
  lostProtection,
  onWait,
}: FileSettlingOptions<Value>): FileSettling<Value> {
  const seen = new Map<string, ObservedChange>();
  /** Inodes of the accepted files. */
  const accepted = new Map<string, bigint>();
  /** The last change of any file, by performance.now(). */
  let changedAt = Number.NEGATIVE_INFINITY;

  function observe({ path, facts }: ObservedFile, age: number): ObservedChange {
    const { ino: inode, size, mtimeNs, ctimeNs } = facts;
    const stamp = `${inode} ${size} ${mtimeNs} ${ctimeNs}`;
    const known = seen.get(path);
    if (known?.stamp === stamp) return known;
    const since = performance.now();
    if (age < SETTLE) changedAt = since;
    const now: ObservedChange = { stamp, since, isTold: false };
    seen.set(path, now);
    return now;
  }

  return {
    waitFor(file, { before, now }) {
      const { path, facts, isEmpty } = file;
      const age = Date.now() - Number(facts.ctimeMs);
      // A new inode with ctime after mtime was moved here or had its times set when complete: by Sluice, `mv` or `tar`.
      const isMoved = facts.ctimeNs > facts.mtimeNs && accepted.get(path) !== facts.ino;
      if (isMoved && !isEmpty) return 0;
      const current = observe(file, age);
      const clock = performance.now();
      const rested = Math.max(age, clock - current.since);
      const quiet = rested >= MAX_SETTLE || clock - changedAt >= SETTLE;
      if (rested < SETTLE || !quiet) return SETTLE;
      if (before === undefined) return 0;
      const what = lostProtection(before, now);
      const left = what === null ? 0 : unprotectWait - (clock - current.since);
      if (what === null || left <= 0) return 0;
      if (!current.isTold) onWait(path, what);
      current.isTold = true;
      return left;
    },
    accept({ path, facts }) {
      accepted.set(path, facts.ino);
      seen.delete(path);
    },
    forget(path) {
      accepted.delete(path);
      seen.delete(path);
    },
  };
}
