/**
 * Counters that a worker keeps in memory. At intervals, the worker exchanges counts with Redis: it adds its counts, and
 * reads the sums over all workers and nodes. A request needs no round trip, but a limit may be exceeded by the requests
 * that other workers and nodes have admitted since the last exchange.
 */

import type { Counter, CounterResult } from "@sluice/plugin-sdk";
import type { Redis } from "ioredis";
import { BoundedGroups, CounterGroup } from "../counter-groups.ts";
import { addScript, counterKey, counterLifetime, isOfSeveralSlots, runScript } from "./redis-scripts.ts";

export interface SyncedCountersOptions {
  readonly client: () => Promise<Redis>;
  /** Milliseconds between exchanges with Redis. */
  readonly interval: number;
  readonly now: () => number;
  /**
   * Maximum number of counters in memory; default 100,000. When it is reached, a new counter replaces the oldest
   * counter of the scope with the most counters. If that scope itself needs a new counter, `incrementBelowLimit`
   * rejects.
   */
  readonly capacity?: number;
}

/** Maximum number of counters per script: a script blocks Redis while it runs, and building it blocks the worker. */
const TOGETHER = 500;

interface Entry {
  /** The counter as it was first requested. The limit of later requests may differ; the other members form the key. */
  readonly counter: Counter;
  /** The value in Redis when it was last read. */
  known: number;
  /** The amounts that this worker has admitted and not yet added to Redis. */
  added: number;
}

/** The counters of one scope, by key. */
type Group = CounterGroup<Entry>;

const countOf = (entry: Entry | undefined): number => (entry === undefined ? 0 : entry.known + entry.added);

export class SyncedCounters {
  readonly #client: () => Promise<Redis>;
  readonly #interval: number;
  readonly #now: () => number;
  /** By scope. */
  readonly #groups = new Map<string, Group>();
  readonly #all: BoundedGroups<Entry>;
  #timer: NodeJS.Timeout | undefined;
  #exchanging: Promise<void> | undefined;

  constructor({ client, interval, now, capacity = 100_000 }: SyncedCountersOptions) {
    this.#client = client;
    this.#interval = interval;
    this.#now = now;
    this.#all = new BoundedGroups(capacity);
  }

  async incrementBelowLimit(counters: readonly Counter[]): Promise<CounterResult> {
    const entries = this.#found(counters) ?? (await this.#load(counters));
    // Synchronous from here on: no other call can interfere.
    const admitted = counters.every(({ limit, amount = 1 }, at) => countOf(entries[at]) + amount - 1 < limit);
    if (admitted) for (const [at, entry] of entries.entries()) entry.added += counters[at]?.amount ?? 1;
    this.#arm();
    return { admitted, counts: entries.map(countOf) };
  }

  /** The values of the counters if all of them are in memory; undefined: at least one must be read from Redis. */
  known(counters: readonly Counter[]): readonly number[] | undefined {
    return this.#found(counters)?.map(countOf);
  }

  get idle(): boolean {
    return this.#all.size === 0;
  }

  /** Adds the remaining counts to Redis, if it can be reached. */
  async close(): Promise<void> {
    await this.#exchanging;
    clearTimeout(this.#timer);
    await this.#exchange();
    for (const group of this.#groups.values()) this.#all.drop(group);
    this.#groups.clear();
  }

  #found(counters: readonly Counter[]): readonly Entry[] | undefined {
    const entries: Entry[] = [];
    for (const counter of counters) {
      const entry = this.#groups.get(counter.scope)?.get(counterKey(counter));
      if (entry === undefined) return undefined;
      entries.push(entry);
    }
    return entries;
  }

  async #load(counters: readonly Counter[]): Promise<readonly Entry[]> {
    const isFullOf = (scope: string) => this.#all.isFull && this.#groups.get(scope) === this.#all.largest();
    if (counters.some(({ scope }) => isFullOf(scope))) throw new Error("too many counters wait for Redis");
    const client = await this.#client();
    const values = await client.mget(counters.map(counterKey));
    return counters.map((counter, index) => {
      // Another call may have loaded and changed the entry in the meantime.
      const found = this.#groups.get(counter.scope)?.get(counterKey(counter));
      if (found !== undefined) return found;
      const entry = { counter, known: Number(values[index] ?? 0), added: 0 };
      this.#keep(entry);
      return entry;
    });
  }

  #keep(entry: Entry): void {
    const { scope } = entry.counter;
    const group: Group = this.#groups.get(scope) ?? new CounterGroup();
    this.#groups.set(scope, group);
    this.#all.add(group, counterKey(entry.counter), entry);
  }

  #forget({ counter }: Entry): void {
    const group = this.#groups.get(counter.scope);
    if (group === undefined) return;
    this.#all.delete(group, counterKey(counter));
    if (group.size === 0) this.#groups.delete(counter.scope);
  }

  #arm(): void {
    this.#timer ??= setTimeout(async () => {
      this.#exchanging = this.#exchange();
      await this.#exchanging;
      this.#timer = undefined;
      if (!this.idle) this.#arm();
    }, this.#interval).unref();
  }

  async #exchange(): Promise<void> {
    const now = this.#now();
    const changed: Entry[] = [];
    for (const group of this.#groups.values()) {
      for (const entry of group.values()) {
        if (entry.added > 0 && entry.counter.expires > now) changed.push(entry);
        // Expired, or not incremented since the last exchange: the next call of `incrementBelowLimit` reads the counter
        // from Redis.
        else this.#forget(entry);
      }
    }
    // Counts that could not be added are kept for the next exchange; the connection has already logged the failure.
    for (let at = 0; at < changed.length; at += TOGETHER) {
      const some = changed.slice(at, at + TOGETHER);
      await this.#add(some, now).catch(() => undefined);
    }
  }

  async #add(entries: readonly Entry[], now: number): Promise<void> {
    const client = await this.#client();
    const added = entries.map((entry) => entry.added);
    const keys = entries.map(({ counter }) => counterKey(counter));
    const values = entries.flatMap(({ counter }, at) => [added[at] ?? 0, counterLifetime(counter, now)]);
    try {
      const counts = (await runScript(client, addScript, { keys, values })) as readonly number[];
      for (const [at, entry] of entries.entries()) {
        entry.known = counts[at] ?? 0;
        entry.added -= added[at] ?? 0;
      }
    } catch (error) {
      if (entries.length === 1 || !isOfSeveralSlots(error)) throw error;
      await Promise.allSettled(entries.map((entry) => this.#add([entry], now)));
    }
  }
}
