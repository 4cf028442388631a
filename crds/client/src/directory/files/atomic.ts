/**
 * Changes files so that a reader sees the old or the new one and never a part, also after a power cut. A new one stands
 * beside its place under a hidden name first, and an old one goes by way of such a name: `targetOf` tells it, so that
 * who watches the folder knows that there is nothing to wait for.
 *
 * Calls that only touch the system's caches are synchronous: each way through the thread pool costs ten times the call.
 * Those that change a folder are not: they wait while the system writes what came before to the disk.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsync,
  futimesSync,
  lstatSync,
  open,
  openSync,
  readdirSync,
  realpathSync,
  rename,
  rmSync,
  statSync,
  unlink,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Conflict } from "../../resource.ts";
import { readTextIfExists } from "./file-cache.ts";

// Of these the forms with callbacks are cheaper than those of node:fs/promises.
const [opened, synced, renamed, unlinked] = [promisify(open), promisify(fsync), promisify(rename), promisify(unlink)];

/** Milliseconds: more than the clocks of file systems are coarse. */
const MTIME_LEAD = 20;

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
export class EditedConflict extends Conflict {
  constructor(path: string) {
    super("changed", `${path} was edited in the meantime`);
  }
}

export async function writeAtomically(
  path: string,
  text: string,
  { mode = 0o644, after = 0, durable = true, replaces }: WriteOptions = {},
): Promise<void> {
  const target = resolveLink(path);
  const existing = statSync(target, { throwIfNoEntry: false });
  const temporary = temporaryOf(target);
  try {
    const file = await opened(temporary, "wx", existing ? existing.mode & 0o777 : mode);
    try {
      writeFileSync(file, text);
      // Before the time of the move: so a reader sees that all had been written then (patience.ts).
      const changedAt = Math.max(fstatSync(file).mtimeMs - MTIME_LEAD, after + 2) / 1000;
      futimesSync(file, changedAt, changedAt);
      if (durable) await synced(file);
    } finally {
      closeSync(file);
    }
    // As late as can be: what is saved between this look and the next step is lost.
    if (replaces !== undefined && readTextIfExists(target) !== replaces) throw new EditedConflict(path);
    await renamed(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw withPath(error, path);
  }
  if (durable) await syncFolder(dirname(target));
}

/** Calls on an open file, such as the one that finds the disk full, say what failed and not on which file. */
function withPath(error: unknown, path: string): unknown {
  const { syscall, path: told } = error as NodeJS.ErrnoException;
  if (error instanceof Error && syscall !== undefined && told === undefined) error.message += ` '${path}'`;
  return error;
}

/** Durable, too. Rejects when there is no such file. */
export async function removeAtomically(path: string): Promise<void> {
  const temporary = temporaryOf(path);
  await renamed(path, temporary);
  await unlinked(temporary);
  await syncFolder(dirname(path));
}

/** A rename would replace a symbolic link by the file. */
function resolveLink(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  if (!isLink) return path;
  try {
    return realpathSync(path);
  } catch {
    // It leads nowhere.
    return path;
  }
}

const temporaryOf = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);

/** The name of the file that is written or removed by way of this one beside it; undefined for all others. */
export const targetOf = (name: string): string | undefined => /^\.(.+)\.[0-9a-f]{12}$/.exec(name)?.[1];

/**
 * Removes what writers of a file left beside it when they were killed in the middle. For who holds the file's lock: a
 * writer that lives has such files, too.
 */
export async function removeUnfinished(path: string): Promise<void> {
  const target = realpathSync(path);
  const folder = dirname(target);
  const left = readdirSync(folder).filter((name) => targetOf(name) === basename(target));
  for (const name of left) rmSync(join(folder, name), { force: true });
}

/** Makes renames and removals in a folder durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, "r");
  try {
    await synced(folder);
  } finally {
    closeSync(folder);
  }
}
