/**
 * When a file that others write counts: once nothing more is to come. Until then it is what it was before. A reader sees
 * files in the middle of being written, and half a file may be one that protects nothing.
 */
import type { BigIntStats } from "node:fs";

export interface FileSettling<Value> {
  /**
   * Milliseconds for which the file has to be left as it is until it counts; 0: it does.
   *
   * @param change What was read, undefined for a file that is new, and what would be read now.
   */
  waitFor(file: ObservedFile, change: { readonly before: Value | undefined; readonly now: Value }): number;
  /** The file is read as it is. */
  accept(file: ObservedFile): void;
  /** The file has gone. */
  forget(path: string): void;
}

export interface ObservedFile {
  readonly path: string;
  readonly facts: BigIntStats;
  readonly isEmpty: boolean;
}

export interface FileSettlingOptions<Value> {
  /** See `SLUICE_UNPROTECT_WAIT`. Milliseconds. */
  readonly unprotectWait: number;
  /** What the change takes away that protects something, in words; null: nothing. */
  readonly lostProtection: (before: Value, now: Value) => string | null;
  /** Told once for each change that waits because of what it takes away. */
  readonly onWait: (path: string, lost: string) => void;
}

/** Milliseconds for which a file must be as it is, and no other file may change. */
const SETTLE = 150;
/** Milliseconds after which other files are not waited for any more. */
const MAX_SETTLE = 1000;

interface ObservedChange {
  readonly stamp: string;
  /** Of performance.now(). */
  readonly since: number;
  isTold: boolean;
}

export function createFileSettling<Value>({
  unprotectWait,
  lostProtection,
  onWait,
}: FileSettlingOptions<Value>): FileSettling<Value> {
  const seen = new Map<string, ObservedChange>();
  /** Inodes of what counts. */
  const accepted = new Map<string, bigint>();
  /** Of any file, of performance.now(). */
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
      // Another file that was moved here, or whose times were set, after all was written: by our writers, `mv` or `tar`.
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
