/**
 * Stores the operator's last push in a file, so that a node that starts without an operator has a document to serve.
 * The file is a journal with one push per line: a document and the changes after it. So storing a change costs time in
 * proportion to its length, however large the document is. When the changes would be longer than the document (and than
 * 256 KiB), a new document replaces them. An incomplete last line is ignored. Serving never waits for the file: a push
 * that cannot be stored is served nevertheless.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  emptySnapshot,
  type PushChange,
  type PushDocument,
  type PushPosition,
  type Snapshot,
  snapshotToDocument,
} from "@sluice/model";
import type { SourceLog } from "../source.ts";
import { checkPush } from "./check-push.ts";

export interface JournaledSnapshot {
  readonly place: PushPosition;
  readonly snapshot: Snapshot;
}

export interface SnapshotJournal {
  /** The stored document, validated like a push; null when there is none that can be read. Never rejects. */
  read(): Promise<JournaledSnapshot | null>;
  /** Stores an accepted push, or the whole snapshot that results from it, once earlier writes are done. */
  append(push: PushDocument | PushChange, leadsTo: Snapshot): void;
  /** Resolves when everything is written, or writing has failed. */
  close(): Promise<void>;
}

export interface SnapshotJournalOptions {
  readonly file: string;
  readonly log: SourceLog;
}

/** Bytes of changes up to which the file is not compacted to a new document. */
const MIN_COMPACTION_BYTES = 256 * 1024;
/** Maximum number of queued changes; above it, the whole document is written. */
const MAX_QUEUED_LINES = 1000;

const lineOf = (push: PushDocument | PushChange): string => `${JSON.stringify(push)}\n`;

export function createSnapshotJournal({ file, log }: SnapshotJournalOptions): SnapshotJournal {
  let latest: JournaledSnapshot | null = null;
  /** Lines to be appended; null: the whole document is to be written. */
  let lines: string[] | null = null;
  let base = 0;
  let added = 0;
  let writing: Promise<void> | null = null;
  let isReported = false;

  /** Written to a temporary file first, so that a reader finds either the old document or the new one. */
  async function writeDocument({ place, snapshot }: JournaledSnapshot): Promise<void> {
    const temporary = `${file}.${randomBytes(6).toString("hex")}`;
    const handle = await open(temporary, "wx", 0o600);
    try {
      let bytes = 0;
      for (const chunk of documentText({ place, snapshot })) {
        // `writeFile` writes everything or fails. On a nearly full disk, `write` may write a part without an error.
        await handle.writeFile(chunk);
        bytes += Buffer.byteLength(chunk);
        // Requests are served between chunks.
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
        isReported = false;
      } catch (error) {
        // For example a full disk. The next push writes the whole document; until then the file may end in an
        // incomplete line.
        lines = null;
        if (!isReported) log.error({ file, err: error }, "cannot save the document");
        isReported = true;
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
          log.error({ file, err: error }, "the saved document cannot be read");
        return null;
      }
    },
    append(push, snapshot) {
      const { term = 0, revision } = push;
      latest = { place: { term, revision }, snapshot };
      // The first push after a start is written as a document, even if it is a change: the file may end in an
      // incomplete line.
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

/** The document as one line, in chunks of at most 200 entities. */
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

/** The snapshot after all lines before the first incomplete or invalid one; null: there are no such lines. */
function replay(text: string): JournaledSnapshot | null {
  let kept: JournaledSnapshot | null = null;
  for (const line of text.split("\n").slice(0, -1)) {
    const next = replayLine(kept?.snapshot ?? emptySnapshot, line);
    if (next === null) break;
    kept = next;
  }
  return kept;
}

function replayLine(previous: Snapshot, line: string): JournaledSnapshot | null {
  let push: PushDocument | PushChange;
  try {
    push = JSON.parse(line);
  } catch {
    return null;
  }
  const { term = 0, revision } = push;
  if (!Number.isSafeInteger(term) || !Number.isSafeInteger(revision)) return null;
  const made = checkPush(push).value?.(previous);
  return made === undefined || made === "stale" || made.violations
    ? null
    : { place: { term, revision }, snapshot: made.value };
}
