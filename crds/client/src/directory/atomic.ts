/** Writes files so that a reader sees the old or the new one and never a part, also after a power cut. */
import { randomBytes } from "node:crypto";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface WriteOptions {
  /** For a new file; an existing one keeps its own. */
  readonly mode?: number;
  /** Milliseconds: the file's mtime becomes later than this even when the clock is coarse or was set back. */
  readonly after?: number;
  /** Whether it must survive a power cut. Default true. */
  readonly durable?: boolean;
}

export async function writeAtomically(
  path: string,
  text: string,
  { mode = 0o644, after = 0, durable = true }: WriteOptions = {},
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
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  if (durable) await syncFolder(folder);
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
