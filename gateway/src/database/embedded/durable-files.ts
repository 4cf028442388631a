/**
 * The embedded database's files. By default PGlite never waits for the disk (it starts Postgres with `-F`, and its file
 * system has no fsync). Here a commit is on disk before it is confirmed, as with any Postgres.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/** The parts of Emscripten's Node file system that are used here. */
interface FileSystem {
  readonly stream_ops: { fsync?: (stream: Stream) => number };
  realPath(node: unknown): string;
}

interface Stream {
  /** Node's file descriptor; folders have none. */
  readonly nfd?: number;
  readonly node: unknown;
}

class DurableFiles extends NodeFS {
  override async init(pglite: PGlite, options: Parameters<NodeFS["init"]>[1]): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(pglite, options);
    const before = emscriptenOpts.preRun ?? [];
    const addSync = (module: { readonly NODEFS: unknown }): void => {
      const files = module.NODEFS as FileSystem;
      files.stream_ops.fsync = ({ nfd, node }) => {
        if (nfd === undefined) syncFolder(files.realPath(node));
        // Syncs contents and length, as Postgres does by default on Linux: timestamps need not be durable.
        else fdatasyncSync(nfd);
        return 0;
      };
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...before, addSync] } };
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** PGlite's options for durable files in the folder. fsync is the only sync method that its file system supports. */
export const durableOptions = (folder: string): PGliteOptions => ({
  fs: new DurableFiles(folder),
  startParams: [...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"), "-c", "wal_sync_method=fsync"],
});

/** Syncs everything in a new folder, whose files are created without waiting for the disk. */
export async function syncAll(folder: string): Promise<void> {
  const within = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = within.filter((one) => one.isFile() || one.isDirectory()).map((one) => join(one.parentPath, one.name));
  await Promise.all(
    [folder, ...paths].map(async (path) => {
      const file = await open(path, "r");
      await file.sync().finally(() => file.close());
    }),
  );
}
