/** A mutex across the processes that share a directory. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MutexHold } from "../../resource.ts";
import { readTextIfExists } from "./file-cache.ts";
import { createFileLock } from "./file-lock.ts";

export interface DirectoryMutex {
  run<Result>(run: (turn: MutexHold) => Promise<Result>): Promise<Result>;
  /** Resolves when all runs requested so far have ended. */
  close(): Promise<void>;
}

/** @param folder Must exist by the first run. */
export function createDirectoryMutex(folder: string, name: string): DirectoryMutex {
  const me = randomUUID();
  const lock = createFileLock(join(folder, `${name}-lock`));
  const path = join(folder, `${name}-last`);
  return {
    run: (run) =>
      lock.run(async () => {
        const others = readTextIfExists(path) !== me;
        if (others) writeFileSync(path, me);
        return run({ othersMayHaveWritten: others });
      }),
    close: lock.close,
  };
}
