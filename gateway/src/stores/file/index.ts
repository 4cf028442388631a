/**
 * The store over a declarative file. In a YAML file in block style, writes change the lines of their entities and leave
 * all other lines as they are.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { EditedConflict, writeAtomically } from "@sluice/crds/atomic";
import type { AcceptedContent, FileSource } from "../../sources/file/file-source.ts";
import type { LoadedData } from "../../sources/file/read-file.ts";
import type { SourceLog } from "../../sources/source.ts";
import { createGroupCommit } from "../group-commit.ts";
import { changesOf } from "../revisions/net-changes.ts";
import { defaultRevisionLimits, type RevisionLimits } from "../revisions/revisions.ts";
import { type Effect, type Store, StoreUnavailable, type Write, type WriteOutcome } from "../store.ts";
import { systemReason } from "../system-error.ts";
import { createTables, findInTables, listFromTables, type PlacedEntity, type Tables } from "../tables/index.ts";
import { applyWrites, type FileState } from "./apply.ts";
import { changedByEdit } from "./changed-by-edit.ts";
import { editTree, type TouchedNodes } from "./edit.ts";
import { fileProblems, originInFile } from "./places.ts";
import { createPrinter, type PrintFile } from "./print.ts";
import { createRevisionLog, FILE_AUTHOR } from "./revision-log.ts";
import { buildFileTree } from "./tree.ts";

export interface FileStoreOptions {
  readonly file: string;
  /** The source of the file. The caller starts it before the first read or write. */
  readonly source: FileSource;
  /** Whether the file may be written. If not, its revisions are in memory only. */
  readonly writable: boolean;
  /** Reports on the nodes that serve the file, after a write that the source has delivered. */
  readonly programmed: WriteOutcome["programmed"];
  /** Default: 100 revisions of 90 days. */
  readonly limits?: RevisionLimits;
  readonly log: Pick<SourceLog, "warn">;
}

/** The file's content with tables for reads, and with a printer once there has been a write. */
interface State extends FileState {
  readonly text: string;
  readonly print?: PrintFile;
}

/** Maximum attempts of a write that is repeated because another process saved the file in between. */
const ATTEMPTS = 8;

export function createFileStore(options: FileStoreOptions): Store {
  const { file, source, writable, programmed, limits = defaultRevisionLimits, log } = options;
  const path = writable ? revisionPath(file) : null;
  const revisions = createRevisionLog({ path, limits, log });
  let state: State | undefined;
  /** Readers see the last complete state, also while a write changes the tree. */
  let shown: Pick<State, "text" | "tables"> | undefined;

  function current(): State {
    const taken = source.content();
    if (!taken) throw new StoreUnavailable("the declarative file has not been read yet");
    if (state?.text !== taken.text) state = stateOf(taken.text, taken.loaded());
    shown = state;
    return state;
  }

  /**
   * The tables for readers; during a write, the tables before the write. If each reader loaded a large file again, no
   * time would be left for writes.
   */
  const tables = (): Tables => (shown && shown.text === source.content()?.text ? shown : current()).tables;

  /** Writes of one author that arrive during a write are written together after it: the disk is the slowest part. */
  const commit = createGroupCommit({
    commit: (group, author) => source.exclusively(() => write(group, author)),
    most: Infinity,
  });

  source.onAccepted(recordEdit);

  async function recordEdit({ content, previous, snapshot }: AcceptedContent): Promise<void> {
    if (previous === null) return revisions.start(snapshot.hash);
    await revisions.start(previous.snapshot.hash);
    if (previous.snapshot.hash === snapshot.hash) return;
    const before = state?.text === previous.content.text ? state.tables : null;
    const changes = changedByEdit({ ...previous, before }, { content, snapshot });
    await revisions.record({ author: FILE_AUTHOR, changes, hash: snapshot.hash });
  }

  /** Starts the revisions, unless `recordEdit` has: the file may have been read before this store listened. */
  async function startRevisions(): Promise<void> {
    const hash = source.hash();
    if (hash !== null) await revisions.start(hash);
  }

  async function write(batch: readonly (readonly Write[])[], author: string): Promise<readonly WriteOutcome[]> {
    const failure = source.failure();
    if (failure !== null) throw new StoreUnavailable(`repair the declarative file first: ${failure}`);
    const before = current();
    const done = applyWrites(before, batch);
    const effects = done.outcomes.flatMap(({ effects = [] }) => effects);
    if (!effects.some(changes)) return done.outcomes;
    await startRevisions();
    await save(before, done, effects);
    const { hash } = done.snapshot;
    if (hash !== before.snapshot.hash) await revisions.record({ author, changes: changesOf(effects), hash });
    return done.outcomes.map((outcome) => (outcome.effects?.some(changes) ? { ...outcome, programmed } : outcome));
  }

  async function save(before: State, done: Omit<FileState, "tree">, effects: readonly Effect[]): Promise<void> {
    // The tree is changed in place, so if the write fails, the state must be read from the file again.
    state = undefined;
    const { tree } = before;
    const version = tree.head.get("_format_version");
    if (version !== "3.0") {
      throw new StoreUnavailable(
        `the declarative file has the format ${version}, which can only be read: Sluice writes 3.0`,
      );
    }
    const deck = ["_info", "_plugin_configs"].find((member) => tree.head.has(member));
    if (deck !== undefined) {
      throw new StoreUnavailable(
        `the declarative file has the member ${deck}, which is decK's own: such a file can only be read`,
      );
    }
    const print = before.print ?? createPrinter(tree, before.text);
    const touched: TouchedNodes = new Set();
    editTree(tree, effects, touched);
    const text = print(touched);
    // A write of a whole document is served even if the file is read-only; the file then stays as it is.
    if (writable) await writeAtomically(file, text, { replaces: before.text });
    await source.deliver(text, done.snapshot, { saved: writable });
    state = { text, tree, print, tables: done.tables, snapshot: done.snapshot };
    shown = state;
  }

  return {
    list: async (collection, options) => listFromTables(tables(), collection, { ...options, now: Date.now() }),
    find: async (collection, by) => findInTables(tables(), collection, { by, now: Date.now() }),
    revisions: {
      ...revisions,
      async list(range) {
        await startRevisions();
        return revisions.list(range);
      },
    },
    async write(writes, { plan = false, whole = false, author = "unknown" } = {}) {
      if (plan) return applyWrites(current(), [writes]).outcomes[0] ?? { effects: [] };
      if (!writable && !whole) return { fault: { kind: "read-only" }, index: 0 };
      for (let attempt = 1; ; attempt++) {
        try {
          return await commit(writes, author);
        } catch (error) {
          if (!(error instanceof EditedConflict) || attempt === ATTEMPTS) throw unavailable(file, error);
        }
      }
    },
    unready: () => [],
    problems: async () => fileProblems(source.failure()),
    async origin(collection, id) {
      const content = source.content();
      return content && originInFile(file, content, { collection, id });
    },
  };
}

/** The revisions are beside the file itself, even if the path is a symbolic link. */
function revisionPath(path: string): string {
  const file = realpathSync(path);
  return join(dirname(file), `.${basename(file)}.revisions`);
}

const changes = ({ before, after }: Effect): boolean => before !== null || after !== null;

function stateOf(text: string, loaded: LoadedData): State {
  const tree = buildFileTree(loaded);
  const placed = [...tree.nodes.values()].map(({ collection, entity }): PlacedEntity => ({ collection, entity }));
  return { text, tree, tables: createTables(placed), snapshot: loaded.snapshot };
}

/** System errors of a file contain no secrets and are shown; other errors are bugs and stay as they are. */
function unavailable(file: string, error: unknown): unknown {
  if (error instanceof EditedConflict) return new StoreUnavailable(`${file} keeps changing: try again`);
  const reason = systemReason(error);
  return reason === undefined
    ? error
    : new StoreUnavailable(`the declarative file ${file} cannot be written: ${reason}`, { cause: error });
}
