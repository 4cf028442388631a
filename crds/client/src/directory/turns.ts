/** One writer after the other among several processes that share a directory. */
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Turn } from "../resource.ts";
import { absent } from "./files.ts";
import { createLock } from "./lock.ts";

export interface Turns {
  take<Result>(run: (turn: Turn) => Promise<Result>): Promise<Result>;
  idle(): Promise<void>;
}

/** @param folder Must be there by the first turn. */
export function createTurns(folder: string, name: string): Turns {
  const me = randomUUID();
  const lock = createLock(join(folder, `${name}-lock`));
  const path = join(folder, `${name}-last`);
  return {
    take: (run) =>
      lock.hold(async () => {
        const others = (await readFile(path, "utf8").catch(absent)) !== me;
        if (others) await writeFile(path, me);
        return run({ others });
      }),
    idle: lock.idle,
  };
}
