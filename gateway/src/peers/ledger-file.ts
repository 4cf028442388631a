/** Counters of a fleet in a file of the node. */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { counterId } from "../counters/fleet/accounts.ts";
import { WINDOW_GRACE } from "../counters/fleet/fleet-clock.ts";
import type { ReportedCounter } from "../counters/fleet/messages.ts";
import { type LedgerStore, MAX_SAVED } from "./ledger-saver.ts";
import { reportedOf } from "./parse-message.ts";

export interface LedgerFileOptions {
  /** Its folder is created if it does not exist. */
  readonly file: string;
  /** Called once when there are more counters than the file may have. */
  readonly onFull: () => void;
  /** Maximum number of counters; above it, the one that was saved first is left out. Default MAX_SAVED. */
  readonly capacity?: number;
}

/** Other users of the machine must not read or change the counts. */
const MODE = 0o600;

export class LedgerFile implements LedgerStore {
  readonly #options: LedgerFileOptions;
  /** In the order in which they were saved last. */
  readonly #counters = new Map<string, ReportedCounter>();
  #isFull = false;

  constructor(options: LedgerFileOptions) {
    this.#options = options;
  }

  /** Rejects if the file is damaged, because limits would be exceeded without it. */
  async load(): Promise<readonly ReportedCounter[]> {
    const { file } = this.#options;
    await mkdir(dirname(file), { recursive: true });
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "[]";
      throw error;
    });
    for (const each of countersOf(text, file)) this.#counters.set(counterId(each.counter), each);
    this.#dropEnded();
    return [...this.#counters.values()];
  }

  /** Writes a new file, and then replaces the former one, so that a crash leaves one of both. */
  async save(counters: readonly ReportedCounter[]): Promise<void> {
    for (const each of counters) {
      const id = counterId(each.counter);
      this.#counters.delete(id);
      this.#counters.set(id, each);
    }
    this.#dropEnded();
    this.#dropOldest();
    const { file } = this.#options;
    const temporary = `${file}.new`;
    const handle = await open(temporary, "w", MODE);
    try {
      await handle.writeFile(JSON.stringify([...this.#counters.values()]));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  }

  #dropEnded(): void {
    const time = Date.now() - WINDOW_GRACE;
    for (const [id, { counter }] of this.#counters) if (counter.expires <= time) this.#counters.delete(id);
  }

  #dropOldest(): void {
    const { capacity = MAX_SAVED, onFull } = this.#options;
    for (const id of this.#counters.keys()) {
      if (this.#counters.size <= capacity) return;
      this.#counters.delete(id);
      if (!this.#isFull) onFull();
      this.#isFull = true;
    }
  }
}

function countersOf(text: string, path: string): readonly ReportedCounter[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!Array.isArray(parsed)) throw new Error("expected a list");
    return parsed.map(reportedOf);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${path} is damaged (${message}): remove it to let its counters begin at 0`, { cause: error });
  }
}
