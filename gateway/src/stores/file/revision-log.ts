/**
 * The revisions of a declarative file. They are in memory and, if the declarative file is writable, also in one file
 * beside it, with one line for each change. New lines are appended. When more than half of the lines belong to deleted
 * revisions, the file is written again without these lines.
 *
 * A line has the hash of the configuration after its change. If the configuration has another hash at the start than in
 * the last line, the declarative file was edited while no process recorded changes. A revision without changes then
 * marks the gap.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { writeAtomically } from "@sluice/crds/atomic";
import type { SourceLog } from "../../sources/source.ts";
import {
  type EntityChange,
  MAX_READ_CHANGES,
  MAX_REVISION_BYTES,
  notKept,
  type RevisionCounts,
  type RevisionLimits,
  type Revisions,
  type StoreRevision,
  tooManyChanges,
} from "../revisions/revisions.ts";

export interface RevisionLogOptions {
  /** Null: the revisions are in memory only. */
  readonly path: string | null;
  readonly limits: RevisionLimits;
  readonly log: Pick<SourceLog, "warn">;
}

export interface RevisionLog extends Revisions {
  /** Reads the file, if that has not been done. @param hash Hash of the present configuration. */
  start(hash: string): Promise<void>;
  /** @param change.changes Null: unknown. */
  record(change: {
    readonly author: string;
    readonly changes: readonly EntityChange[] | null;
    readonly hash: string;
  }): Promise<void>;
}

/** The author of changes that were made by saving the file. */
export const FILE_AUTHOR = "file";

/** A line of the file. Lines with the same number are joined. */
interface Line extends StoreRevision {
  readonly hash: string;
  /** Empty if they are not kept. */
  readonly changes: readonly EntityChange[];
}

interface Entry {
  readonly revision: StoreRevision;
  /** The lines of its changes, as text: parsed changes need several times the memory. */
  readonly lines: readonly string[];
  /** Unix time in milliseconds of its last change. */
  readonly ended: number;
  /** Revisions of the same author that followed each other within PAUSE milliseconds, up to this one. */
  readonly streak: number;
  readonly bytes: number;
}

/** As in the database (database/migrations/revision-tables.ts). */
const STREAK = 20;
const PAUSE = 2000;

/** The file is written again when it has more than twice the lines that are kept, plus this number. */
const SPARE_LINES = 100;

/** Maximum length of all lines; older revisions are deleted. */
const MAX_BYTES = 32 * 1024 * 1024;

export function createRevisionLog({ path, limits, log }: RevisionLogOptions): RevisionLog {
  let entries: Entry[] = [];
  let linesInFile = 0;
  let isStarted = false;

  function add(line: Line): string {
    const text = JSON.stringify(line);
    const newest = entries.at(-1);
    const { hash: _hash, changes: _changes, ...revision } = line;
    const entry = { revision, lines: [text], ended: line.time, streak: 0, bytes: text.length };
    if (newest?.revision.number === line.number) entries[entries.length - 1] = joined(newest, entry);
    else entries.push({ ...entry, streak: newest && follows(newest, line) ? newest.streak + 1 : 1 });
    deleteOld();
    return text;
  }

  function deleteOld(): void {
    let bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const oldest = Date.now() - limits.age;
    const first = entries.findIndex(({ revision, bytes: own }, index) => {
      const stays =
        index === entries.length - 1 ||
        (entries.length - index <= limits.number && revision.time > oldest && bytes <= MAX_BYTES);
      bytes -= own;
      return stays;
    });
    if (first > 0) entries = entries.slice(first);
  }

  async function save(text: string): Promise<void> {
    if (path === null) return;
    try {
      const kept = entries.reduce((sum, { lines }) => sum + lines.length, 0);
      if (linesInFile > 2 * kept + SPARE_LINES) {
        const lines = entries.flatMap((entry) => entry.lines);
        await writeAtomically(path, `${lines.join("\n")}\n`, { mode: 0o600 });
        linesInFile = kept;
      } else {
        // Not flushed to disk: after a power cut, the hash of the last line shows that a line is missing.
        appendFileSync(path, `${text}\n`, { mode: 0o600 });
        linesInFile += 1;
      }
    } catch (error) {
      const { message } = error as Error;
      log.warn({ path, reason: message }, "a revision cannot be saved; it is kept until this process ends");
    }
  }

  async function record({ author, changes, hash }: Parameters<RevisionLog["record"]>[0]): Promise<void> {
    const newest = entries.at(-1);
    const last = newest ? newest.revision.last + 1 : 0;
    const kept = changes !== null && JSON.stringify(changes).length <= MAX_REVISION_BYTES ? changes : null;
    const counts = kept && countsOf(kept);
    const line: Line = { number: last, last, time: Date.now(), author, counts, hash, changes: kept ?? [] };
    await save(add(newest && joins(newest, line) ? { ...line, number: newest.revision.number } : line));
  }

  return {
    async start(hash) {
      if (isStarted) return;
      isStarted = true;
      const { lines, fault } = path !== null && existsSync(path) ? readLines(path) : { lines: [], fault: undefined };
      for (const line of lines) add(line);
      // A damaged last line would make the next one unreadable too, so the file is written again.
      linesInFile = fault === undefined ? lines.length : Number.MAX_SAFE_INTEGER;
      if (fault !== undefined)
        log.warn({ path, reason: fault }, "some or all saved revisions cannot be read, and are deleted");
      const known = lines.at(-1)?.hash;
      if (known !== hash) await record({ author: FILE_AUTHOR, changes: known === undefined ? [] : null, hash });
    },
    record,
    async list({ size, before = Number.POSITIVE_INFINITY }) {
      deleteOld();
      const found = entries.map(({ revision }) => revision).filter(({ number }) => number < before);
      return { revisions: found.toReversed().slice(0, size), more: found.length > size };
    },
    async find(number) {
      deleteOld();
      return entries.find(({ revision }) => revision.number === number)?.revision ?? null;
    },
    async changes({ after, to }) {
      const wanted = entries.filter(({ revision }) => revision.number > after && revision.number <= to);
      const lost = wanted.findLast(({ revision }) => revision.counts === null);
      if (lost) return { missing: notKept(lost.revision) };
      const lines = wanted.flatMap((entry) => entry.lines.map((text) => JSON.parse(text) as Line));
      const changes = lines.flatMap((line) => line.changes);
      return changes.length > MAX_READ_CHANGES ? { missing: tooManyChanges(after, to) } : { changes };
    },
  };
}

function countsOf(changes: readonly EntityChange[]): RevisionCounts {
  const created = changes.filter(({ before }) => before === null).length;
  const deleted = changes.filter(({ after }) => after === null).length;
  return { created, changed: changes.length - created - deleted, deleted };
}

const follows = ({ revision, ended }: Entry, { author, time }: Line): boolean =>
  revision.author === author && time - ended < PAUSE;

const joins = (newest: Entry, line: Line): boolean =>
  follows(newest, line) &&
  newest.streak >= STREAK &&
  newest.revision.counts !== null &&
  line.counts !== null &&
  newest.bytes < MAX_REVISION_BYTES;

const joined = (earlier: Entry, later: Entry): Entry => ({
  revision: {
    ...later.revision,
    time: earlier.revision.time,
    counts: sumOf(earlier.revision.counts, later.revision.counts),
  },
  lines: [...earlier.lines, ...later.lines],
  ended: later.ended,
  streak: earlier.streak,
  bytes: earlier.bytes + later.bytes,
});

const sumOf = (one: RevisionCounts | null, other: RevisionCounts | null): RevisionCounts | null =>
  one &&
  other && {
    created: one.created + other.created,
    changed: one.changed + other.changed,
    deleted: one.deleted + other.deleted,
  };

/** The lines of the file; if lines are invalid, only the lines after the last invalid one. */
function readLines(path: string): { readonly lines: readonly Line[]; readonly fault: string | undefined } {
  let lines: Line[] = [];
  let fault: string | undefined;
  try {
    for (const text of readFileSync(path, "utf8").split("\n")) {
      const line = lineOf(text);
      if (line !== undefined) lines.push(line);
      else if (text !== "") [lines, fault] = [[], "a line is damaged"];
    }
  } catch (error) {
    fault = (error as Error).message;
  }
  return { lines, fault };
}

const numbers = ["number", "last", "time"] as const;

function lineOf(text: string): Line | undefined {
  try {
    const line = Object(JSON.parse(text)) as Partial<Record<keyof Line, unknown>>;
    const texts = [line.author, line.hash].every((value) => typeof value === "string");
    const isLine = texts && typeof line.counts === "object" && Array.isArray(line.changes);
    return isLine && numbers.every((name) => Number.isSafeInteger(line[name])) ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}
