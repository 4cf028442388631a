/**
 * Decides when a file written by other programs has settled; until then its previous content stays in effect. A reader
 * may see a file in the middle of a write, and half a file may lack a protecting plugin.
 */
import type { BigIntStats } from "node:fs";

export type FileSettling<Value> = ReturnType<typeof createFileSettling<Value>>;

interface ObservedFile {
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
  readonly onLoss: (path: string, lost: string) => void;
  /** Called when a file has not settled yet, with the milliseconds after which to reread it. */
  readonly onWait: (path: string, wait: number) => void;
}

/** Milliseconds for which the file must be unchanged and no other file may change. */
export const SETTLE_MILLISECONDS = 150;
/** Milliseconds after which changes of other files are ignored. */
const MAX_SETTLE = 1000;

/**
 * Changes with every write to the file, unless two writes of the same size fall within the granularity of file
 * timestamps.
 */
export const stampOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

interface ObservedChange {
  readonly stamp: string;
  /** When this state was first observed, by performance.now(). */
  readonly since: number;
  isReported: boolean;
}

export function createFileSettling<Value>({
  unprotectWait,
  lostProtection,
  onLoss,
  onWait,
}: FileSettlingOptions<Value>) {
  const seen = new Map<string, ObservedChange>();
  /** Inodes of the accepted files. */
  const accepted = new Map<string, bigint>();
  /** The last change of any file, by performance.now(). */
  let changedAt = Number.NEGATIVE_INFINITY;

  function observe({ path, facts }: ObservedFile, age: number): ObservedChange {
    const stamp = stampOf(facts);
    const known = seen.get(path);
    if (known?.stamp === stamp) return known;
    const since = performance.now();
    if (age < SETTLE_MILLISECONDS) changedAt = since;
    const now: ObservedChange = { stamp, since, isReported: false };
    seen.set(path, now);
    return now;
  }

  return {
    /**
     * The content if it may take effect now; undefined while the file has to stay unchanged for longer.
     *
     * @param before The content in effect; undefined for a new file.
     */
    settle(file: ObservedFile, before: Value | undefined, parse: () => Value): Value | undefined {
      const { path, facts, isEmpty } = file;
      const age = Date.now() - Number(facts.ctimeMs);
      // A file with a new inode whose ctime is later than its mtime was moved here, or had its times set when it was
      // complete: by Sluice, `mv` or `tar`.
      const isMoved = facts.ctimeNs > facts.mtimeNs && accepted.get(path) !== facts.ino;
      if (isMoved && !isEmpty) return parse();
      const current = observe(file, age);
      const clock = performance.now();
      const rested = Math.max(age, clock - current.since);
      const quiet = rested >= MAX_SETTLE || clock - changedAt >= SETTLE_MILLISECONDS;
      if (rested < SETTLE_MILLISECONDS || !quiet) {
        onWait(path, SETTLE_MILLISECONDS);
        return undefined;
      }
      const now = parse();
      const lost = before === undefined ? null : lostProtection(before, now);
      const left = unprotectWait - (clock - current.since);
      if (lost === null || left <= 0) return now;
      if (!current.isReported) onLoss(path, lost);
      current.isReported = true;
      onWait(path, left);
      return undefined;
    },
    /** Records that the file's current state has taken effect. */
    accept({ path, facts }: ObservedFile): void {
      accepted.set(path, facts.ino);
      seen.delete(path);
    },
    /** Called when the file was removed. */
    forget(path: string): void {
      accepted.delete(path);
      seen.delete(path);
    },
  };
}
