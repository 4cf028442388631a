/** Writes files so that a reader sees the old or the new one and never a part, also after a power cut. */
import { randomBytes } from "node:crypto";
import { open, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Conflict } from "../resource.ts";

export interface WriteOptions {
  /** For a new file; an existing one keeps its own. */
  readonly mode?: number;
  /** Milliseconds: the file's mtime becomes later than this even when the clock is coarse or was set back. */
  readonly after?: number;
  /** Whether it must survive a power cut. Default true. */
  readonly durable?: boolean;
  /** The text that is to be replaced. Rejects with `Edited` when the file holds another by now. */
  readonly replaces?: string;
}

/** Somebody saved the file since it was read: people and their editors hold no lock. */
export class Edited extends Conflict {
  constructor(path: string) {
    super("changed", `${path} was edited in the meantime`);
  }
}

export async function writeAtomically(
  path: string,
  text: string,
  { mode = 0o644, after = 0, durable = true, replaces }: WriteOptions = {},
): Promise<void> {
  // A rename would replace a symbolic link by the file.
  const target = await realpath(path).catch(() => path);
  const existing = await stat(target).catch(() => undefined);
  const folder = dirname(target);
  const temporary = join(folder, `.${basename(target)}.${randomBytes(6).toString("hex")}`);
  try {
    const file = await open(temporary, "wx", existing ? existing.mode & 0o777 : mode);
    try {
      await file.writeFile(text);
      const { mtimeMs } = await file.stat();
      if (mtimeMs <= after + 1) await file.utimes((after + 2) / 1000, (after + 2) / 1000);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    // As late as can be: what is saved between this look and the next step is lost.
    if (replaces !== undefined && (await readFile(target, "utf8").catch(() => undefined)) !== replaces)
      throw new Edited(path);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  if (durable) await syncFolder(folder);
}

/**
 * Removes what writers of a file left beside it when they were killed in the middle. For who holds the file's lock: a
 * writer that lives has such files, too.
 */
export async function removeUnfinished(path: string): Promise<void> {
  const target = await realpath(path);
  const [folder, start] = [dirname(target), `.${basename(target)}.`];
  const left = (await readdir(folder)).filter(
    (name) => name.startsWith(start) && /^[0-9a-f]{12}$/.test(name.slice(start.length)),
  );
  for (const name of left) await rm(join(folder, name), { force: true });
}

/** Makes renames and removals in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
