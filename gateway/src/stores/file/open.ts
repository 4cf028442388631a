/** Opens a declarative file for its readers and its only writer. */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { removeUnfinished } from "@sluice/crds/atomic";
import { hostAndPort, SettingsError } from "@sluice/model/serving";
import { acquireFileLock } from "../../database/file-lock.ts";
import { type FileSettings, fileSettings as names } from "../../settings/file.ts";
import type { RevisionSettings } from "../../settings/revisions.ts";
import { sluiceVersion } from "../../settings/version.ts";
import { createFileSource, type FileSource } from "../../sources/file/file-source.ts";
import { createIntake } from "../../sources/intake.ts";
import type { NodeStatusSource, SourceLog } from "../../sources/source.ts";
import { revisionLimits } from "../revisions/revisions.ts";
import { type Fleet, NodesUnreachable, type OpenedStore } from "../store.ts";
import { createFileStore } from "./index.ts";

/** A file for a node and an admin listener in one process. */
export interface SharedFile extends OpenedStore {
  /**
   * Returns the source of the file, which must be started before the first read or write.
   *
   * @param node The node that serves the writes; null: no node is known.
   */
  source(node: NodeStatusSource | null): FileSource;
}

/** @throws SettingsError when no file is set, or when the file is to be writable and another process writes it. */
export async function shareFile(
  settings: FileSettings & Partial<RevisionSettings>,
  log: SourceLog,
): Promise<SharedFile> {
  if (settings.file === null) throw new SettingsError(`${names.file.variable} must be set: the declarative file`);
  const file = resolve(settings.file);
  const writable = settings.fileWritable;
  const release = writable ? await lockFile(file) : () => {};
  const source = createFileSource({ file, log, keepContent: true, unprotectWait: settings.unprotectWait });
  let node: NodeStatusSource | null = null;

  /** The node of this process serves a write before its caller gets the outcome. Null: this process has no node. */
  async function programmed() {
    if (!node) return null;
    const { revision } = node.state();
    const acknowledged = [hostAndPort(node.status())];
    return { programmed: true, revision, acknowledged, lagging: [], silent: [], problems: [] };
  }

  return {
    store: createFileStore({ file, source, writable, programmed, limits: revisionLimits(settings), log }),
    fleet: fleetOf(() => node),
    hash: source.hash,
    source(given) {
      node = given;
      return source;
    },
    close: async () => release(),
  };
}

/** The file for an admin listener without a node. */
export async function openFile(
  settings: FileSettings & Partial<RevisionSettings>,
  log: SourceLog,
): Promise<OpenedStore> {
  const shared = await shareFile(settings, log);
  const intake = createIntake({ node: randomUUID(), version: sluiceVersion, serve() {} });
  const source = shared.source(null);
  try {
    await source.start(intake);
  } catch (error) {
    await shared.close();
    throw error;
  }
  return {
    ...shared,
    async close() {
      await source.stop();
      await shared.close();
    },
  };
}

/**
 * Returns the function that releases the lock. The lock file is in the folder of the file itself, even if the path is a
 * symbolic link.
 */
async function lockFile(path: string): Promise<() => void> {
  const file = realpathSync(path);
  const release = acquireFileLock(join(dirname(file), `.${basename(file)}.lock`));
  if (release) {
    await removeUnfinished(file);
    return release;
  }
  throw new SettingsError(
    `another process writes ${path}, and only one process at a time may: stop that process, or start this one ` +
      `without ${names.fileWritable.variable}`,
  );
}

/** The node of this process, if there is one: no other node is known. */
function fleetOf(own: () => NodeStatusSource | null): Fleet {
  const nodes = () =>
    [own()].flatMap((node) => {
      if (!node) return [];
      const address = hostAndPort(node.status());
      return [{ ...node.state(), address, status: `http://${address}` }];
    });
  return {
    status: async () => (own() ? { silent: [], nodes: nodes() } : null),
    nodes: async () => nodes().map(({ node, address, status }) => ({ node, address, status })),
    async askPlugin(call) {
      const node = own();
      if (node === null) {
        throw new NodesUnreachable(
          "this process does not know the nodes that serve the file: run the admin API and the node in one process " +
            "(sluice start). To clear the state of the plugin on every node, change its config",
        );
      }
      return { answered: [{ node: hostAndPort(node.status()), response: await node.askPlugin(call) }], unanswered: [] };
    },
  };
}
