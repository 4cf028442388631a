/** Counters of `policy: cluster` in a worker thread, which asks the control thread: only that has the database. */
import type { RateLimitingConfig } from "@sluice/model";
import type { Counter, Counters, Taken } from "../counters/counters.ts";
import type { WorkerMessage } from "./messages.ts";

interface Waiting {
  resolve(taken: Taken): void;
  reject(error: Error): void;
}

export class RemoteClusterCounters implements Counters {
  readonly #tell: (word: WorkerMessage) => void;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(tell: (word: WorkerMessage) => void) {
    this.#tell = tell;
  }

  take(counters: readonly Counter[], config: RateLimitingConfig): Promise<Taken> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#tell({ kind: "take", id, counters, config });
    });
  }

  taken(id: number, taken: Taken): void {
    this.#waiting.get(id)?.resolve(taken);
    this.#waiting.delete(id);
  }

  untaken(id: number, message: string): void {
    this.#waiting.get(id)?.reject(new Error(message));
    this.#waiting.delete(id);
  }

  async close(): Promise<void> {}
}
