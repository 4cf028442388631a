/** One writer after the other among several processes that share a directory. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Turn } from "../resource.ts";
import { textOf } from "./files.ts";
import { createLock } from "./lock.ts";

export interface Turns {
  take<Result>(run: (turn: Turn) => Promise<Result>): Promise<Result>;
  /** Resolves when all that were asked for so far are over. */
  close(): Promise<void>;
}

/** @param folder Must be there by the first turn. */
export function createTurns(folder: string, name: string): Turns {
  const me = randomUUID();
  const lock = createLock(join(folder, `${name}-lock`));
  const path = join(folder, `${name}-last`);
  return {
    take: (run) =>
      lock.hold(async () => {
        const others = textOf(path) !== me;
        if (others) writeFileSync(path, me);
        return run({ others });
      }),
    close: lock.close,
  };
}
