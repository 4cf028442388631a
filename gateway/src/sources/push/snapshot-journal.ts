/**
 * Keeps what the operator pushed last in a file, so that a node that starts while there is no operator has something to
 * serve. The file is a journal, one push a line: a document, and the changes since. So a change costs what it is long,
 * however large the document is; once the changes are as long as the document, a new one is written in its place. A
 * line whose writing was cut off is none. Nothing waits for the file: what cannot be kept is served all the same.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  applyChange,
  applyDocument,
  type Checked,
  checkChange,
  checkFlatDocument,
  emptySnapshot,
  type PushChange,
  type PushDocument,
  type PushPlace,
  type Snapshot,
  snapshotToDocument,
} from "@sluice/model";
import { READ_NEWER, type SourceLog } from "../source.ts";

export interface JournaledSnapshot {
  readonly place: PushPlace;
  readonly snapshot: Snapshot;
}

export interface SnapshotJournal {
  /** What was kept, checked as a push is; null when there is nothing. Never rejects. */
  read(): Promise<JournaledSnapshot | null>;
  /** Keeps a push that is taken, and what it leads to, as soon as the file is free. */
  append(push: PushDocument | PushChange, leadsTo: Snapshot): void;
  /** Resolves when all is written. */
  close(): Promise<void>;
}

export interface SnapshotJournalOptions {
  readonly file: string;
  readonly log: SourceLog;
}

/** Bytes of changes below which no new document is written in their place. */
const MIN_COMPACTION_BYTES = 256 * 1024;
/** Changes that wait for the file; when there are more, the document is written. */
const MAX_QUEUED_LINES = 1000;

const lineOf = (push: PushDocument | PushChange): string => `${JSON.stringify(push)}\n`;

export function createSnapshotJournal({ file, log }: SnapshotJournalOptions): SnapshotJournal {
  let latest: JournaledSnapshot | null = null;
  /** Lines that are to be added; null: the document is to be written. */
  let lines: string[] | null = null;
  let base = 0;
  let added = 0;
  let writing: Promise<void> | null = null;
  let isTold = false;

  /** Beside its place first, so that a reader finds the old one or the new one. */
  async function writeDocument({ place, snapshot }: JournaledSnapshot): Promise<void> {
    const temporary = `${file}.${randomBytes(6).toString("hex")}`;
    const handle = await open(temporary, "wx", 0o600);
    try {
      let bytes = 0;
      for (const chunk of documentText({ place, snapshot })) {
        // A single write to a disk that is nearly full writes a part and is content.
        await handle.writeFile(chunk);
        bytes += Buffer.byteLength(chunk);
        // Requests are served between them.
        await nextTurn();
      }
      await handle.sync();
      await handle.close();
      await rename(temporary, file);
      base = bytes;
      added = 0;
    } catch (error) {
      await handle.close().catch(() => undefined);
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async function append(text: string): Promise<void> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, "a", 0o600);
      await handle.writeFile(text);
      added += Buffer.byteLength(text);
    } finally {
      await handle?.close();
    }
  }

  async function write(): Promise<void> {
    while (latest && (lines === null || lines.length > 0)) {
      const text = lines?.join("") ?? null;
      lines = [];
      try {
        if (text === null || added + text.length > Math.max(base, MIN_COMPACTION_BYTES)) await writeDocument(latest);
        else await append(text);
        isTold = false;
      } catch (error) {
        // A full disk, for example. The next push writes all of it; what was kept before may end in half a line.
        lines = null;
        if (!isTold) log.error({ file, err: error }, "cannot keep the document");
        isTold = true;
        return;
      }
    }
  }

  return {
    async read() {
      try {
        return replay(await readFile(file, "utf8"));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          log.error({ file, err: error }, "what was kept cannot be read");
        return null;
      }
    },
    append(push, snapshot) {
      const { term = 0, revision } = push;
      latest = { place: { term, revision }, snapshot };
      // After a start the first push is a document, whatever it came as: the file may end in half a line.
      if ("document" in push || (lines && lines.length >= MAX_QUEUED_LINES)) lines = null;
      else lines?.push(lineOf(push));
      writing ??= write().finally(() => {
        writing = null;
      });
    },
    async close() {
      await writing;
    },
  };
}

/** The document as one line, in pieces of some hundred entities. */
function* documentText({ place, snapshot }: JournaledSnapshot): Generator<string> {
  const { term, revision } = place;
  const { _format_version, _sluice, ...collections } = snapshotToDocument(snapshot);
  yield `${JSON.stringify({ term, revision }).slice(0, -1)},"document":${JSON.stringify({ _format_version, _sluice }).slice(0, -1)}`;
  for (const [collection, items] of Object.entries(collections)) {
    const list = items as readonly unknown[];
    yield `,${JSON.stringify(collection)}:[`;
    for (let start = 0; start < list.length; start += 200) {
      const piece = list.slice(start, start + 200).map((item) => JSON.stringify(item));
      yield `${start > 0 ? "," : ""}${piece.join(",")}`;
    }
    yield "]";
  }
  yield "}}\n";
}

/** What the lines lead to, as far as they are whole and good. */
function replay(text: string): JournaledSnapshot | null {
  const [first, ...others] = text.split("\n").slice(0, -1);
  const begun = first === undefined ? null : documentIn(first);
  if (!begun) return null;
  let kept = begun;
  for (const line of others) {
    const next = changed(kept, line);
    if (!next) break;
    kept = next;
  }
  return kept;
}

function documentIn(line: string): JournaledSnapshot | null {
  const push = parsed<PushDocument>(line);
  const checked = checkFlatDocument(push?.document);
  if (!push || checked.violations) return null;
  return keptOf(push, applyDocument(emptySnapshot, checked.value, READ_NEWER));
}

function changed({ snapshot }: JournaledSnapshot, line: string): JournaledSnapshot | null {
  const push = parsed<PushChange>(line);
  if (push?.base !== snapshot.hash) return null;
  const checked = checkChange(push.change);
  return checked.violations ? null : keptOf(push, applyChange(snapshot, checked.value, READ_NEWER));
}

function keptOf({ term = 0, revision }: PushPlace, made: Checked<Snapshot>): JournaledSnapshot | null {
  const isPlace = Number.isSafeInteger(term) && Number.isSafeInteger(revision);
  return made.violations || !isPlace ? null : { place: { term, revision }, snapshot: made.value };
}

function parsed<Push>(line: string): Push | null {
  try {
    return JSON.parse(line) as Push;
  } catch {
    return null;
  }
}
