/**
 * The file source: a declarative file (YAML or JSON), read again whenever it changes. A large file is read in a
 * separate process; the node then applies only the changes.
 */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { loadText } from "@sluice/model";
import {
  adoptChange,
  type Checked,
  describeViolation,
  describeWarnings,
  hashTreeOf,
  type NodeReport,
  SettingsError,
  type Snapshot,
  type Violation,
} from "@sluice/model/serving";
import type { SnapshotSink, Source, SourceLog } from "../source.ts";
import { createFileText } from "./file-text.ts";
import { findEdit } from "./find-edit.ts";
import { describeLostProtection } from "./lost-protection.ts";
import type { LoadedData } from "./read-file.ts";
import { createReaderProcess } from "./reader-process.ts";
import { applyFileEdit, changeFromReading, type ServedText } from "./served-text.ts";

export interface FileSourceOptions {
  readonly file: string;
  readonly log: SourceLog;
  /** Milliseconds between polls of the file, for file systems that report no changes. Default 1000. */
  readonly interval?: number;
  /** Keeps the text and its content for `content()`. Default false. */
  readonly keepContent?: boolean;
  /** See `SLUICE_UNPROTECT_WAIT`. Milliseconds; default 2000. */
  readonly unprotectWait?: number;
}

/** A text of the file, and its content. */
export interface ServedFileContent {
  readonly text: string;
  /** Computed on the first call, unless it is known already. */
  loaded(): LoadedData;
}

export interface AcceptedContent {
  readonly content: ServedFileContent;
  readonly previous: { readonly content: ServedFileContent; readonly snapshot: Snapshot } | null;
  readonly snapshot: Snapshot;
}

/** A file source for a process that also writes the file. */
export interface FileSource extends Source {
  /** The content that was last accepted or delivered; null before the start, and without `keepContent`. */
  content(): ServedFileContent | null;
  /**
   * Calls the listener after each text that was read from the file and accepted, before the next check. The listener is
   * not called for texts passed to `deliver`. The first text has no previous one.
   */
  onAccepted(listener: (accepted: AcceptedContent) => Promise<void>): void;
  /** Hash of the snapshot that is served; null before the start. */
  hash(): string | null;
  /** Calls `run` right after a check of the file; no other check runs at the same time. */
  exclusively<Result>(run: () => Promise<Result>): Promise<Result>;
  /**
   * Serves the text that the caller of `exclusively` has just written, without reading the file again. If the text was
   * not `saved` to the file, it is served until the file changes.
   */
  deliver(text: string, snapshot: Snapshot, how: { readonly saved: boolean }): Promise<void>;
}

/** A text of at most this many characters is read in this process: that is no slower than starting a reader process. */
const MAX_INLINE_LENGTH = 16 * 1024;

/** The result for a text that will be read again later. */
const POSTPONED: Checked<Snapshot> = { violations: [] };

const sentences = (violations: readonly Violation[]): string => violations.map(describeViolation).join("\n");

/** The result of applying a text. */
interface AppliedText {
  readonly state: NodeReport;
  readonly loaded: LoadedData | undefined;
  readonly warnings: LoadedData["warnings"];
}

function fileContent(text: string, load: typeof loadText, known?: LoadedData): ServedFileContent {
  let loaded = known;
  return {
    text,
    loaded() {
      loaded ??= load(text).value;
      if (!loaded) throw new Error("a text that was valid is no longer valid");
      return loaded;
    },
  };
}

/** Loads the module on demand, which saves memory in a node whose file is read by another process. */
const loadLoader = async (): Promise<typeof loadText> => (await import("@sluice/model")).loadText;

export function createFileSource(options: FileSourceOptions): FileSource {
  const { file, log, interval = 1000, keepContent = false, unprotectWait = 2000 } = options;
  let sink: SnapshotSink | undefined;
  let taken: ServedFileContent | null = null;
  /** The snapshot of `taken`. */
  let takenSnapshot: Snapshot | undefined;
  let listener: Parameters<FileSource["onAccepted"]>[0] | undefined;
  let hash: string | null = null;
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let revision = 0;
  let failure: string | null = null;
  const fileText = createFileText(file);
  const reader = createReaderProcess();
  /** The text that is served, if it is a large one: it is compared with the next edit. */
  let served: ServedText | null = null;
  /** A text that removes protection from routes, and the time since which it has been in the file. */
  let held: { readonly text: string; readonly since: number } | null = null;
  let heldTimer: NodeJS.Timeout | undefined;
  let stopped = false;
  let reading: Promise<void> = Promise.resolve();

  const scheduleCheck = () => {
    reading = reading.then(() => sink && checkFile(sink)).catch(failed);
  };

  /**
   * Whether the text must wait because a route would lose a plugin that protects it: the file may be half written. A
   * file that replaced another one is complete.
   */
  function mustPostpone(text: string, previous: Snapshot, next: Snapshot): boolean {
    const lost = fileText.wasReplaced() ? null : describeLostProtection(previous, next);
    if (lost === null) return false;
    const now = performance.now();
    const isNew = held?.text !== text;
    if (isNew) held = { text, since: now };
    const left = unprotectWait - (now - (held?.since ?? now));
    if (left <= 0) return false;
    fileText.forget();
    clearTimeout(heldTimer);
    heldTimer = setTimeout(scheduleCheck, left);
    if (isNew) {
      const wait = `the change waits until the file has been unchanged for ${unprotectWait / 1000} s`;
      log.warn({ file }, `${wait}: it removes the ${lost}, and the file may be half written`);
    }
    return true;
  }

  /** Reads the file and delivers it when its text is new. Sets `failure` to the reason when the text is rejected. */
  async function checkFile(intake: SnapshotSink): Promise<void> {
    let text: string | null;
    try {
      text = await fileText.read();
    } catch (error) {
      const reason = `${file}: ${(error as Error).message}`;
      // Not logged at the start, because the error that ends the process contains the reason.
      if (failure !== reason && hash !== null) log.error({ file }, reason);
      failure = reason;
      return;
    }
    if (stopped || text === null) return;
    if (held && held.text !== text) held = null;
    const { violations, value } = await applyText(intake, text);
    if (held && violations) return;
    if (violations) {
      failure = sentences(violations);
      if (hash !== null)
        log.error(
          { faults: violations.length },
          `the file is invalid; the last valid configuration stays active:\n${failure}`,
        );
      return;
    }
    held = null;
    fileText.accept();
    revision += 1;
    failure = null;
    hash = value.state.hash;
    if (keepContent && value.loaded) await accept(text, value.loaded);
    const { warnings } = value;
    if (warnings.length > 0)
      log.warn({ file, warnings: warnings.length }, `the file has warnings:\n${describeWarnings(warnings).join("\n")}`);
    log.info({ file, hash, revision }, "serving the file");
  }

  async function accept(text: string, loaded: LoadedData): Promise<void> {
    const previous = taken && takenSnapshot ? { content: taken, snapshot: takenSnapshot } : null;
    const content = fileContent(text, await loadLoader(), loaded);
    const { snapshot } = loaded;
    [taken, takenSnapshot] = [content, snapshot];
    await listener?.({ content, previous, snapshot });
  }

  async function applyText(intake: SnapshotSink, text: string): Promise<Checked<AppliedText>> {
    if (text.length <= MAX_INLINE_LENGTH) return applyInline(intake, text);
    const edited = await applyEdit(intake, text);
    // `content()` needs the whole text to be read, although the edit is served already.
    return edited === null || (keepContent && edited.value) ? applyInProcess(intake, text) : edited;
  }

  async function applyInline(intake: SnapshotSink, text: string): Promise<Checked<AppliedText>> {
    const load = await loadLoader();
    let loaded: LoadedData | undefined;
    let warnings: LoadedData["warnings"] = [];
    const { violations, value: state } = await intake.update(revision + 1, (previous) => {
      const read = load(text, { file, previous });
      if (read.violations) return read;
      const { positionOf: _, ...data } = read.value;
      loaded = data;
      warnings = data.warnings;
      return mustPostpone(text, previous, data.snapshot) ? POSTPONED : { value: data.snapshot };
    });
    if (violations) return { violations };
    served = null;
    return { value: { state, loaded, warnings } };
  }

  /** Null: the whole text must be read. */
  async function applyEdit(intake: SnapshotSink, text: string): Promise<Checked<AppliedText> | null> {
    if (served === null) return null;
    const edit = findEdit(served.text, text);
    if (edit === null) return null;
    const next = await applyFileEdit(served, { text, ...edit }, reader.edit);
    if (next === null) return null;
    const { violations, value: state } = await intake.update(revision + 1, (previous) =>
      mustPostpone(text, previous, next.snapshot) ? POSTPONED : { value: next.snapshot },
    );
    if (violations) return { violations };
    served = next;
    return { value: { state, loaded: undefined, warnings: [] } };
  }

  async function applyInProcess(intake: SnapshotSink, text: string): Promise<Checked<AppliedText>> {
    const { violations, value } = await reader.read({
      text,
      file,
      before: served && hashTreeOf(served.snapshot),
      withData: keepContent,
    });
    if (violations) return { violations };
    const { hashes, isDivided, kept } = value;
    let loaded: LoadedData | undefined;
    let snapshot: Snapshot | undefined;
    const taken = await intake.update(revision + 1, (previous) => {
      snapshot = adoptChange(previous, changeFromReading(previous, value), hashes);
      if (kept) loaded = { ...kept, snapshot };
      return mustPostpone(text, previous, snapshot) ? POSTPONED : { value: snapshot };
    });
    if (taken.violations) return taken;
    served = snapshot && isDivided ? { text, snapshot } : null;
    return { value: { state: taken.value, loaded, warnings: value.warnings } };
  }

  /**
   * Handles errors other than those in the file's content: the previous snapshot stays active, and the text is not
   * applied again until the file changes.
   */
  function failed(error: Error): void {
    if (stopped) return;
    failure = `${file}: ${error.message}`;
    log.error({ err: error }, "the file could not be applied; the last valid configuration stays active");
  }

  return {
    async start(intake) {
      sink = intake;
      await checkFile(intake);
      if (failure !== null) {
        const fate = "nothing is served, and clients cannot connect, until it is valid and this process starts again";
        throw new SettingsError(
          `the declarative file is invalid, and there is no earlier configuration: ${fate}\n${failure}`,
        );
      }
      // Watches the folder: editors and atomic writers replace the file, which ends a watch of the file itself.
      watcher = watch(dirname(file), (_event, name) => {
        if (name === null || name === basename(file)) scheduleCheck();
      });
      watcher.on("error", (error) => log.warn({ err: error }, "the file can no longer be watched; it is only polled"));
      timer = setInterval(scheduleCheck, interval);
    },
    async reread() {
      reading = reading.then(async () => {
        fileText.forget();
        served = null;
        // The reader process still has the earlier schemas; the next read starts a new process.
        await reader.end();
      });
      scheduleCheck();
      await reading;
    },
    failure: () => failure,
    content: () => taken,
    onAccepted(added) {
      listener = added;
    },
    hash: () => hash,
    exclusively(run) {
      const ran = reading.then(async () => {
        if (sink) await checkFile(sink).catch(failed);
        return run();
      });
      reading = ran.then(
        () => undefined,
        () => undefined,
      );
      return ran;
    },
    async deliver(text, snapshot, { saved }) {
      await sink?.update(revision + 1, () => ({ value: snapshot }));
      revision += 1;
      served = null;
      if (saved) fileText.know(text);
      failure = null;
      hash = snapshot.hash;
      if (keepContent) [taken, takenSnapshot] = [fileContent(text, await loadLoader()), snapshot];
    },
    async stop() {
      clearInterval(timer);
      clearTimeout(heldTimer);
      watcher?.close();
      stopped = true;
      await reader.end();
      await reading;
    },
  };
}
