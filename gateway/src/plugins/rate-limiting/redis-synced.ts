/**
 * Counters that a node keeps by itself and adds to Redis every so often: a request costs no round trip, and a limit
 * may be passed by what the other nodes admitted since the last exchange.
 */
import type { Redis } from "ioredis";
import { CounterGroup } from "./counter-group.ts";
import type { Counter, Taken } from "./counters.ts";
import { LargestFirst } from "./largest-first.ts";
import { counterKey, lifetime } from "./redis-keys.ts";
import { addScript, isOfSeveralSlots, runScript } from "./redis-scripts.ts";

export interface SyncedCountersOptions {
  readonly client: () => Promise<Redis>;
  /** Milliseconds between exchanges. */
  readonly interval: number;
  readonly now: () => number;
  /**
   * How many counters may wait for Redis; default 100,000. Beyond that a new counter replaces the oldest of the plugin
   * instance that has the most; a take of that instance rejects.
   */
  readonly capacity?: number;
}

/** How many counters one script adds to: what Redis and the node do in one go. */
const TOGETHER = 500;

interface Entry {
  /** As it was first asked for; the limit may change under it, the rest is its key. */
  readonly counter: Counter;
  /** What Redis said at the last exchange. */
  known: number;
  /** What this node has admitted since then. */
  added: number;
}

/** What one plugin instance counts, by the counters' keys. */
type Group = CounterGroup<Entry>;

const countOf = (entry: Entry | undefined): number => (entry === undefined ? 0 : entry.known + entry.added);

export class SyncedCounters {
  readonly #client: () => Promise<Redis>;
  readonly #interval: number;
  readonly #now: () => number;
  readonly #capacity: number;
  /** By instance. */
  readonly #groups = new Map<string, Group>();
  readonly #bySize = new LargestFirst<Group>();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #exchanging: Promise<void> | undefined;

  constructor({ client, interval, now, capacity = 100_000 }: SyncedCountersOptions) {
    this.#client = client;
    this.#interval = interval;
    this.#now = now;
    this.#capacity = capacity;
  }

  async take(counters: readonly Counter[]): Promise<Taken> {
    const entries = this.#found(counters) ?? (await this.#load(counters));
    // From here on nothing waits: no other take comes in between.
    const admitted = counters.every(({ limit }, index) => countOf(entries[index]) < limit);
    if (admitted) for (const entry of entries) entry.added += 1;
    this.#arm();
    return { admitted, counts: entries.map(countOf) };
  }

  /** Nothing is kept here at the moment. */
  get idle(): boolean {
    return this.#size === 0;
  }

  /** Adds to Redis what is still here, if it can be reached. */
  async close(): Promise<void> {
    await this.#exchanging;
    clearTimeout(this.#timer);
    await this.#exchange();
    this.#groups.clear();
    this.#bySize.clear();
    this.#size = 0;
  }

  #found(counters: readonly Counter[]): readonly Entry[] | undefined {
    const entries: Entry[] = [];
    for (const counter of counters) {
      const entry = this.#groups.get(counter.instance)?.get(counterKey(counter));
      if (entry === undefined) return undefined;
      entries.push(entry);
    }
    return entries;
  }

  async #load(counters: readonly Counter[]): Promise<readonly Entry[]> {
    const isFullOf = (instance: string) =>
      this.#size >= this.#capacity && this.#groups.get(instance) === this.#bySize.largest();
    if (counters.some(({ instance }) => isFullOf(instance))) throw new Error("too many counters wait for Redis");
    const client = await this.#client();
    const values = await client.mget(counters.map(counterKey));
    return counters.map((counter, index) => {
      // Another take may have loaded it meanwhile and counted on it.
      const found = this.#groups.get(counter.instance)?.get(counterKey(counter));
      if (found !== undefined) return found;
      const entry = { counter, known: Number(values[index] ?? 0), added: 0 };
      this.#keep(entry);
      return entry;
    });
  }

  #keep(entry: Entry): void {
    if (this.#size >= this.#capacity) this.#makeRoom();
    const { instance } = entry.counter;
    const group: Group = this.#groups.get(instance) ?? new CounterGroup();
    this.#groups.set(instance, group);
    group.set(counterKey(entry.counter), entry);
    this.#bySize.grown(group);
    this.#size += 1;
  }

  #makeRoom(): void {
    const largest = this.#bySize.largest();
    if (!largest?.deleteOldest()) return;
    this.#bySize.shrunk(largest);
    this.#size -= 1;
  }

  #forget({ counter }: Entry): void {
    const group = this.#groups.get(counter.instance);
    if (group?.delete(counterKey(counter)) !== true) return;
    this.#bySize.shrunk(group);
    this.#size -= 1;
    if (group.size === 0) this.#groups.delete(counter.instance);
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
        // Over, or not used since the last exchange: a later take asks Redis for it.
        else this.#forget(entry);
      }
    }
    // What could not be added stays here for the next time; the connection has said that it is lost.
    for (let at = 0; at < changed.length; at += TOGETHER) {
      const some = changed.slice(at, at + TOGETHER);
      await this.#add(some, now).catch(() => undefined);
    }
  }

  async #add(entries: readonly Entry[], now: number): Promise<void> {
    const client = await this.#client();
    const added = entries.map((entry) => entry.added);
    const keys = entries.map(({ counter }) => counterKey(counter));
    const values = entries.flatMap(({ counter }, at) => [added[at] ?? 0, lifetime(counter, now)]);
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
