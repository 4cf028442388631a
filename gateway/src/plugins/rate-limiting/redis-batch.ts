/**
 * Takes that came in one turn of the event loop, as one script in one Redis: one round trip, however many they are, and
 * one command to write and to read. ioredis' own pipelines have a command and a promise for each, and the next one
 * waits until the one before has been answered.
 */
import type { Redis } from "ioredis";
import type { Counter, Taken } from "./counters.ts";
import { counterKey, lifetime } from "./redis-keys.ts";
import { isOfSeveralSlots, runScript, takeScript } from "./redis-scripts.ts";

/** Redis does nothing else while it runs one of them: about a microsecond for each take. */
const MOST = 500;

interface Waiting {
  readonly counters: readonly Counter[];
  readonly resolve: (taken: Taken) => void;
  readonly reject: (error: unknown) => void;
}

export class RedisBatch {
  readonly #client: Redis;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  /** Where the keys of different counters lie on different servers, no script may have both. */
  #together = true;

  constructor(client: Redis, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  take(counters: readonly Counter[]): Promise<Taken> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === MOST) this.#leave();
      // After everything that this turn has read.
      if (this.#waiting.length === 0) setImmediate(() => this.#leave());
      this.#waiting.push({ counters, resolve, reject });
    });
  }

  #leave(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#together) void this.#run(waiting);
    else for (const each of waiting) void this.#run([each]);
  }

  async #run(takes: readonly Waiting[]): Promise<void> {
    if (takes.length === 0) return;
    const now = this.#now();
    const keys: string[] = [];
    const values: number[] = [];
    for (const { counters } of takes) {
      values.push(counters.length);
      for (const counter of counters) {
        keys.push(counterKey(counter));
        values.push(counter.limit, lifetime(counter, now));
      }
    }
    try {
      const reply = (await runScript(this.#client, takeScript, { keys, values })) as readonly number[];
      let at = 0;
      for (const { counters, resolve } of takes) {
        const counts = reply.slice(at + 1, at + 1 + counters.length);
        resolve({ admitted: reply[at] === 1, counts });
        at += 1 + counters.length;
      }
    } catch (error) {
      if (takes.length > 1 && isOfSeveralSlots(error)) {
        this.#together = false;
        for (const each of takes) void this.#run([each]);
        return;
      }
      for (const { reject } of takes) reject(error);
    }
  }
}
