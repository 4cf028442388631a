/** One writer at a time in a directory, among all processes of the machine, in the order in which they come. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

export interface FileLock {
  /** Runs while nobody else does. Rejects when the lock is held elsewhere for 10 s. */
  run<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Resolves when all that was asked for so far is done. */
  close(): Promise<void>;
}

const timeout = 10_000;
/** Milliseconds between two tries at the most. */
const longestWait = 4;

/**
 * The kernel holds the lock (through SQLite, as Node has no flock), so it ends with its process however that ends:
 * a file with a pid in it can neither be taken over without a race nor be told from one whose pid was given again.
 * The file stays empty; it is made on the first use. A second one beside it (`-next`) keeps the place of who comes
 * next: else a process with much to write, which leaves short gaps only, would let nobody else in.
 */
export function createFileLock(path: string): FileLock {
  const door = createLockFile(path);
  const next = createLockFile(`${path}-next`);
  let last: Promise<unknown> = Promise.resolve();

  async function enter(): Promise<void> {
    const until = performance.now() + timeout;
    await acquire(next, until);
    try {
      await acquire(door, until);
    } finally {
      next.release();
    }
  }

  return {
    run(run) {
      const result = last.then(async () => {
        await enter();
        try {
          return await run();
        } finally {
          door.release();
        }
      });
      last = result.catch(() => undefined);
      return result;
    },
    async close() {
      await last;
      door.close();
      next.close();
    },
  };
}

async function acquire(door: LockFile, until: number): Promise<void> {
  for (let wait = 1; !door.tryAcquire(); wait = Math.min(wait * 2, longestWait)) {
    if (performance.now() > until) throw new Error(`another process has held ${door.path} for ${timeout / 1000} s`);
    await sleep(wait * (0.5 + Math.random()));
  }
}

interface LockFile {
  readonly path: string;
  /** False: somebody else is in. */
  tryAcquire(): boolean;
  release(): void;
  close(): void;
}

/** A file that nothing refers to any more is closed by the collector, also while somebody waits within its lock. */
const heldFiles = new Set<DatabaseSync>();

function createLockFile(path: string): LockFile {
  let opened: { readonly file: DatabaseSync; readonly inode: number | undefined } | undefined;
  const inode = () => statSync(path, { throwIfNoEntry: false })?.ino;

  function close(): void {
    opened?.file.close();
    opened = undefined;
  }

  function open(): DatabaseSync {
    // The directory may have been removed and made again: who comes now opens another file.
    if (opened && opened.inode !== inode()) close();
    if (!opened) {
      opened = { file: new DatabaseSync(path), inode: inode() };
      // There is nothing to undo: no need to make and remove a file at every turn.
      opened.file.exec("PRAGMA journal_mode = MEMORY");
    }
    return opened.file;
  }

  return {
    path,
    tryAcquire() {
      try {
        const file = open();
        file.exec("BEGIN IMMEDIATE");
        heldFiles.add(file);
        return true;
      } catch (error) {
        if (isBusy(error)) return false;
        close();
        throw error;
      }
    },
    release() {
      if (!opened) return;
      heldFiles.delete(opened.file);
      opened.file.exec("ROLLBACK");
    },
    close,
  };
}

/** SQLITE_BUSY */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}
