/** The file source: a declarative file (YAML or JSON), read again whenever it changes. */
import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeViolation, type LoadedText, loadText, type Snapshot, type Violation } from "@sluice/model";
import { SettingsError } from "../settings/error.ts";
import type { Intake, Source, SourceLog } from "./source.ts";

export interface FileOptions {
  readonly file: string;
  readonly log: SourceLog;
  /** Milliseconds between looks at the file, for file systems that do not tell of changes. Default 1000. */
  readonly interval?: number;
  /** What the file says is kept for those who ask what was `taken`, instead of being worked out then. Default false. */
  readonly keep?: boolean;
}

/** A text of the file, and what it says. */
export interface Taken {
  readonly text: string;
  /** Worked out when it is first asked for, if it is not known already. */
  loaded(): LoadedData;
}

/** Without the places of everything in the text, which take more memory than all the rest. */
export type LoadedData = Omit<LoadedText, "positionOf">;

/** A file source for one who writes the file too, in the same process. */
export interface FileSource extends Source {
  /** What was last found good, or delivered; null before the start. */
  taken(): Taken | null;
  /** Of the snapshot that is served; null before the start. */
  hash(): string | null;
  /** Runs when the file has just been looked at, while nobody looks at it again. */
  alone<Result>(run: () => Promise<Result>): Promise<Result>;
  /**
   * Serves what the caller of `alone` has just written: nobody has to read it to know what it says. Where it was not
   * `saved`, it is served until the file changes.
   */
  deliver(text: string, snapshot: Snapshot, how: { readonly saved: boolean }): Promise<void>;
}

/** Milliseconds in which the text of a file that changed must stay the same: it may be in the middle of being written. */
const SETTLE = 20;
/** How often that is tried; a file that never rests is taken as it is found. */
const SETTLE_TRIES = 50;

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The file's text once nobody writes it; `seen` is the hash of the text that is known. */
async function settledText(file: string, seen: string | undefined): Promise<string> {
  let text = await readFile(file, "utf8");
  for (let left = SETTLE_TRIES; left > 0 && hashOf(text) !== seen; left--) {
    await sleep(SETTLE);
    const again = await readFile(file, "utf8");
    if (again === text) break;
    text = again;
  }
  return text;
}

const sentences = (violations: readonly Violation[]): string => violations.map(describeViolation).join("\n");

function takenText(text: string, known?: LoadedData): Taken {
  let loaded = known;
  return {
    text,
    loaded() {
      loaded ??= loadText(text).value;
      if (!loaded) throw new Error("a text that was found good is not good any more");
      return loaded;
    },
  };
}

export function createFileSource({ file, log, interval = 1000, keep = false }: FileOptions): FileSource {
  let into: Intake | undefined;
  let taken: Taken | null = null;
  let hash: string | null = null;
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let seen: string | undefined;
  let revision = 0;
  let trouble: string | null = null;
  let reading: Promise<void> = Promise.resolve();

  /** Reads the file and delivers it when its text is new. Leaves the reason in `trouble` when it cannot be taken. */
  async function look(intake: Intake): Promise<void> {
    let text: string;
    try {
      text = await settledText(file, seen);
    } catch (error) {
      const reason = `${file}: ${(error as Error).message}`;
      if (trouble !== reason) log.error({ file }, reason);
      trouble = reason;
      seen = undefined;
      return;
    }
    const found = hashOf(text);
    if (found === seen) return;
    seen = found;
    let loaded: LoadedData | undefined;
    const next = await intake.update(revision + 1, (previous) => {
      const read = loadText(text, { file, previous });
      if (read.violations) return read;
      const { positionOf: _, ...data } = read.value;
      loaded = data;
      return { value: data.snapshot };
    });
    if (next.violations) {
      trouble = sentences(next.violations);
      log.error({ faults: next.violations.length }, `the file is refused, what was served goes on:\n${trouble}`);
      return;
    }
    revision += 1;
    trouble = null;
    hash = next.value.hash;
    taken = takenText(text, keep ? loaded : undefined);
    log.info({ file, hash: next.value.hash, revision }, "serving the file");
  }

  /** Nothing that stands in a file leads here: what was served goes on, and the file is looked at again. */
  function failed(error: Error): void {
    trouble = `${file}: ${error.message}`;
    log.error({ err: error }, "the file could not be taken, what was served goes on");
  }

  return {
    async start(intake) {
      into = intake;
      await look(intake);
      if (trouble !== null) throw new SettingsError(`the declarative file cannot be served:\n${trouble}`);
      const again = () => {
        reading = reading.then(() => look(intake)).catch(failed);
      };
      // The folder, not the file: editors and atomic writers put a new file in the old one's place.
      watcher = watch(dirname(file), (_event, name) => {
        if (name === null || name === basename(file)) again();
      });
      watcher.on("error", (error) => log.warn({ err: error }, "the file is not watched any more, only looked at"));
      timer = setInterval(again, interval);
    },
    trouble: () => trouble,
    taken: () => taken,
    hash: () => hash,
    alone(run) {
      const ran = reading.then(async () => {
        if (into) await look(into).catch(failed);
        return run();
      });
      reading = ran.then(
        () => undefined,
        () => undefined,
      );
      return ran;
    },
    async deliver(text, snapshot, { saved }) {
      await into?.update(revision + 1, () => ({ value: snapshot }));
      revision += 1;
      if (saved) seen = hashOf(text);
      trouble = null;
      hash = snapshot.hash;
      taken = takenText(text);
    },
    async stop() {
      clearInterval(timer);
      watcher?.close();
      await reading;
    },
  };
}
