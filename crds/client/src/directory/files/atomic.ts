/**
 * Atomic file changes: a reader sees the old or the new content and never a part, even after a power cut. A new file is
 * first written beside its target under a hidden name, and a file to be removed is first renamed to a hidden name.
 *
 * Calls that only touch the system's caches are synchronous: a round trip through the thread pool takes ten times as
 * long as the call. Calls that flush to disk are asynchronous, and so are frequent calls that change a folder, because
 * the system may first have to flush earlier writes.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsync,
  futimesSync,
  lstatSync,
  mkdirSync,
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
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Conflict } from "../../resource.ts";
import { isResourceFile, readTextIfExists, undefinedIfMissing } from "./file-cache.ts";

// The callback versions of these functions are cheaper than those of node:fs/promises.
const [opened, synced, renamed, unlinked] = [promisify(open), promisify(fsync), promisify(rename), promisify(unlink)];

/** Milliseconds from the mtime of a written file to its rename; more than the timestamp granularity of file systems. */
const MTIME_LEAD = 20;

export interface WriteOptions {
  /** The mode of a new file; an existing file keeps its mode. */
  readonly mode?: number;
  /** Unix time in milliseconds: the new mtime is later than this, even when the clock is coarse or was set back. */
  readonly after?: number;
  /** Whether the write must survive a power cut. Default true. */
  readonly durable?: boolean;
  /** The text to replace. The write rejects with `EditedConflict` when the file no longer holds this text. */
  readonly replaces?: string;
}

/** Another program has changed the file since it was read. The lock does not prevent this: editors do not take it. */
export class EditedConflict extends Conflict {
  constructor(path: string) {
    super("changed", `${path} was edited in the meantime`);
  }
}

export async function writeAtomically(
  path: string,
  content: string | Buffer,
  { mode = 0o644, after = 0, durable = true, replaces }: WriteOptions = {},
): Promise<void> {
  const target = resolveLink(path);
  const existing = statSync(target, { throwIfNoEntry: false });
  const temporary = temporaryOf(target);
  try {
    const file = await opened(temporary, "wx", existing ? existing.mode & 0o777 : mode);
    try {
      writeFileSync(file, content);
      // An mtime before the rename's ctime shows readers that the content was complete at the rename
      // (file-settling.ts).
      const changedAt = Math.max(fstatSync(file).mtimeMs - MTIME_LEAD, after + 2) / 1000;
      futimesSync(file, changedAt, changedAt);
      if (durable) await synced(file);
    } finally {
      closeSync(file);
    }
    // Checked as late as possible: an edit saved between this check and the rename is lost.
    if (replaces !== undefined && readTextIfExists(target) !== replaces) throw new EditedConflict(path);
    await renamed(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw withPath(error, path);
  }
  if (durable) await syncFolder(dirname(target));
}

/** Adds the path to errors of calls on an open file, such as ENOSPC. */
function withPath(error: unknown, path: string): unknown {
  const { syscall, path: knownPath } = error as NodeJS.ErrnoException;
  if (error instanceof Error && syscall !== undefined && knownPath === undefined) error.message += ` '${path}'`;
  return error;
}

/** Removes a file durably. Rejects when the file does not exist. */
export async function removeAtomically(path: string): Promise<void> {
  const temporary = temporaryOf(path);
  await renamed(path, temporary);
  await unlinked(temporary);
  await syncFolder(dirname(path));
}

/** The target of a symbolic link if it exists, otherwise the path: a rename onto a link would replace the link. */
function resolveLink(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  if (!isLink) return path;
  try {
    return realpathSync(path);
  } catch {
    // The link is dangling.
    return path;
  }
}

const temporaryOf = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);

/** The name of the file for which a temporary file was created; undefined for other files. */
const targetOf = (name: string): string | undefined => /^\.(.+)\.[0-9a-f]{12}$/.exec(name)?.[1];

/**
 * Removes temporary files that killed writers of this file left behind. The caller must hold the file's lock, because a
 * running writer has such files too.
 */
export async function removeUnfinished(path: string): Promise<void> {
  const target = realpathSync(path);
  const folder = dirname(target);
  const left = readdirSync(folder).filter((name) => targetOf(name) === basename(target));
  for (const name of left) rmSync(join(folder, name), { force: true });
}

/** Milliseconds. A younger file may belong to a running program that does not hold the lock, such as `cp`. */
const minAge = 60_000;

/**
 * Removes the temporary files that killed writers of resources left below a folder more than a minute ago, but does not
 * search hidden folders below it. Temporary files of Secrets contain key material. The caller must hold the lock of the
 * writers in the folder.
 */
export async function removeStaleTemporaryFiles(folder: string): Promise<void> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(undefinedIfMissing)) ?? [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith(".")) await removeStaleTemporaryFiles(path);
    else if (entry.isFile() && isResourceFile(targetOf(entry.name) ?? "") && isOld(path)) rmSync(path, { force: true });
  }
}

function isOld(path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts !== undefined && Date.now() - facts.mtimeMs > minAge;
}

/** Creates the folder if it does not exist. Not recursive: a missing parent folder is a mistake in the settings. */
export function ensureFolder(path: string, mode?: number): void {
  try {
    if (!existsSync(path)) mkdirSync(path, { mode });
  } catch (error) {
    // Another process created the folder first.
    if (!existsSync(path)) throw error;
  }
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
