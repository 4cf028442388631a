/** The file source: a declarative file (YAML or JSON), read again whenever it changes. */
import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeViolation, loadSnapshot, type Violation } from "@sluice/model";
import type { Logger } from "pino";
import type { Intake, Source } from "./source.ts";

export interface FileOptions {
  readonly file: string;
  readonly log: Logger;
  /** Milliseconds between looks at the file, for file systems that do not tell of changes. Default 1000. */
  readonly interval?: number;
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

export function createFileSource({ file, log, interval = 1000 }: FileOptions): Source {
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
      if (trouble !== reason) log.error(reason);
      trouble = reason;
      seen = undefined;
      return;
    }
    const hash = hashOf(text);
    if (hash === seen) return;
    seen = hash;
    const taken = intake.update(revision + 1, (previous) => loadSnapshot(text, { file, previous }));
    if (taken.violations) {
      trouble = sentences(taken.violations);
      log.error({ faults: taken.violations.length }, `the file is refused, what was served goes on:\n${trouble}`);
      return;
    }
    revision += 1;
    trouble = null;
    log.info({ file, hash: taken.value.hash, revision }, "serving the file");
  }

  /** Nothing that stands in a file leads here: what was served goes on, and the file is looked at again. */
  function failed(error: Error): void {
    trouble = `${file}: ${error.message}`;
    log.error({ err: error }, "the file could not be taken, what was served goes on");
  }

  return {
    async start(intake) {
      await look(intake);
      if (trouble !== null) throw new Error(`the declarative file cannot be served:\n${trouble}`);
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
    async stop() {
      clearInterval(timer);
      watcher?.close();
      await reading;
    },
  };
}
