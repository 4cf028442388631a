/** Opens a declarative file, for its readers and for its one writer. */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { NodeState } from "@sluice/model";
import { createIntake } from "../../runtime/intake.ts";
import { SettingsError } from "../../settings/error.ts";
import { type FileSettings, fileSettings as names } from "../../settings/file.ts";
import { createFileSource } from "../../sources/file.ts";
import type { Source, SourceLog } from "../../sources/source.ts";
import { version } from "../../version.ts";
import { takeLock } from "../lock.ts";
import type { Opened } from "../open.ts";
import type { Store } from "../store.ts";
import { createFileStore } from "./index.ts";

/** The node that serves the file in this process. */
export interface OwnNode {
  readonly state: () => NodeState;
  /** How it is called in answers. */
  readonly address: string;
}

/** A file for a node and an admin listener in one process. */
export interface SharedFile {
  /** Readers see nothing before it was started. */
  readonly source: Source;
  readonly store: Store;
  /** Lets another process write the file. After the source was stopped. */
  release(): void;
}

/**
 * @param node Null: no node serves what is written here, as far as anybody knows.
 * @throws SettingsError when there is no file to open, or another process writes it.
 */
export function shareFile(settings: FileSettings, log: SourceLog, node: (() => OwnNode) | null): SharedFile {
  if (settings.file === null) throw new SettingsError(`${names.file.variable} must be set: the declarative file`);
  const file = resolve(settings.file);
  const writable = settings.fileWritable;
  const release = writable ? lockFile(file) : () => {};
  const source = createFileSource({ file, log, keep: true });
  const programmed = async () => {
    if (node === null) return null;
    const { state, address } = node();
    const { revision } = state();
    return { programmed: true, revision, acknowledged: [address], lagging: [], silent: [], problems: [] };
  };
  return { source, store: createFileStore({ file, source, writable, programmed }), release };
}

/** The file for an admin listener without a node. */
export async function openFile(settings: FileSettings, log: SourceLog): Promise<Opened> {
  const { source, store, release } = shareFile(settings, log, null);
  try {
    await source.start(createIntake({ node: randomUUID(), version, serve() {} }));
  } catch (error) {
    release();
    throw error;
  }
  return {
    store,
    fleet: { status: async () => null, nodes: async () => [] },
    async close() {
      await source.stop();
      release();
    },
  };
}

/** Beside the file itself, also where it is reached by a link. */
function lockFile(path: string): () => void {
  const file = realpathSync(path);
  const release = takeLock(join(dirname(file), `.${basename(file)}.lock`));
  if (release) return release;
  throw new SettingsError(
    `another process writes ${path}, and only one at a time may: stop that one, or start this one without ` +
      names.fileWritable.variable,
  );
}
