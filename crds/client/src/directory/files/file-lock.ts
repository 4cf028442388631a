/**
 * A lock that all processes of the machine share, named by the path of a file. The runs of one `FileLock` keep their
 * order.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

export type FileLock = ReturnType<typeof createFileLock>;

const timeout = 10_000;
/** Maximum milliseconds between two attempts, without jitter. */
const longestWait = 4;

/**
 * The kernel holds the lock (through SQLite, as Node has no flock), so the lock ends with the process that holds it. A
 * pid file would be unreliable: its pid may have been reused, and replacing the file of a dead process is a race. The
 * lock's own file stays empty and is created on first use. A second file (`-next`) reserves the place of the next
 * process: otherwise a process with many writes, which leaves only short gaps, would starve the others.
 */
export function createFileLock(path: string) {
  const main = createLockFile(path);
  const next = createLockFile(`${path}-next`);
  let last: Promise<unknown> = Promise.resolve();

  async function enter(): Promise<void> {
    const until = performance.now() + timeout;
    await acquire(next, until);
    try {
      await acquire(main, until);
    } finally {
      next.release();
    }
  }

  return {
    /** Runs the function while holding the lock. Rejects when the lock is not free within 10 s. */
    run<Result>(run: () => Promise<Result>): Promise<Result> {
      const result = last.then(async () => {
        await enter();
        try {
          return await run();
        } finally {
          main.release();
        }
      });
      last = result.catch(() => undefined);
      return result;
    },
    /** Resolves when all runs requested so far have ended. */
    async close(): Promise<void> {
      await last;
      main.close();
      next.close();
    },
  };
}

async function acquire(lock: LockFile, until: number): Promise<void> {
  for (let wait = 1; !lock.tryAcquire(); wait = Math.min(wait * 2, longestWait)) {
    if (performance.now() > until)
      throw new Error(`the lock ${lock.path} is not free after ${timeout / 1000} s: another process holds it`);
    await sleep(wait * (0.5 + Math.random()));
  }
}

type LockFile = ReturnType<typeof createLockFile>;

/** Keeps references, because the garbage collector closes an unreferenced database even while its lock is held. */
const heldFiles = new Set<DatabaseSync>();

function createLockFile(path: string) {
  let opened: { readonly file: DatabaseSync; readonly inode: number | undefined } | undefined;
  const inode = () => statSync(path, { throwIfNoEntry: false })?.ino;

  function close(): void {
    opened?.file.close();
    opened = undefined;
  }

  function open(): DatabaseSync {
    // The directory may have been removed and created again: other processes would then open a different file.
    if (opened && opened.inode !== inode()) close();
    if (!opened) {
      opened = { file: new DatabaseSync(path), inode: inode() };
      // The transactions write nothing, so no journal file needs to be created and removed for every lock.
      opened.file.exec("PRAGMA journal_mode = MEMORY");
    }
    return opened.file;
  }

  return {
    path,
    /** False: another holder has the lock. */
    tryAcquire(): boolean {
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
    release(): void {
      if (!opened) return;
      heldFiles.delete(opened.file);
      opened.file.exec("ROLLBACK");
    },
    close,
  };
}

/** Whether the error is SQLITE_BUSY: another holder has the lock. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}
