/**
 * The embedded database's files. PGlite as it comes never waits for the disk (it starts Postgres with `-F`, and its
 * file system knows no fsync); here a commit is on the disk when it is told, as with any Postgres.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/** Emscripten's file system over Node's, as far as it is used here. */
interface FileSystem {
  readonly stream_ops: { fsync?: (stream: Stream) => number };
  realPath(node: unknown): string;
}

interface Stream {
  /** Node's descriptor; folders have none. */
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
        // Contents and length, as Postgres' own default on Linux: when a file was written need not be kept.
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

/** What PGlite is started with to keep its files in the folder. Of the methods to wait its file system knows fsync. */
export const durableOptions = (folder: string): PGliteOptions => ({
  fs: new DurableFiles(folder),
  startParams: [...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"), "-c", "wal_sync_method=fsync"],
});

/** Waits for the disk to have all that is in a new folder, whose files are made without waiting. */
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
