/**
 * Combines the calls of `incrementBelowLimit` in one turn of the event loop that use the same Redis into one script:
 * one round trip and one command for many calls. ioredis' pipelines need a command and a promise per call, and the next
 * pipeline waits for the response to the previous one.
 */

import type { Counter, CounterResult } from "@sluice/plugin-sdk";
import type { Redis } from "ioredis";
import { counterKey, counterLifetime, isOfSeveralSlots, runScript, takeScript } from "./redis-scripts.ts";

/**
 * Maximum number of `incrementBelowLimit` calls per script. Redis is blocked while it runs a script: about a
 * microsecond per call.
 */
const MOST = 500;

interface Waiting {
  readonly counters: readonly Counter[];
  readonly resolve: (taken: CounterResult) => void;
  readonly reject: (error: unknown) => void;
}

export class RedisBatch {
  readonly #client: Redis;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  /** False once a Redis Cluster has refused a script because the script's keys are in different slots. */
  #together = true;

  constructor(client: Redis, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  incrementBelowLimit(counters: readonly Counter[]): Promise<CounterResult> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === MOST) this.#leave();
      // Runs after all input of this turn has been read.
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
        values.push(counter.limit, counterLifetime(counter, now), counter.amount ?? 1);
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
