/**
 * The shared memory in which all workers of a node count: a hash table of fixed size with open addressing. Workers
 * claim slots and count by compare-and-swap. The table is lock-free: a worker that dies in the middle of an operation
 * blocks no other worker.
 *
 * A slot has eight words: a head, three words of the name's hash (the head holds the fourth except for its four lowest
 * bits), the window, its period and group, its expiry, and the count. Its state is FREE, TAKEN (its owner is about to
 * write it), READY, DOOMED (claimed in vain, and its owner may still write it) or VOID (reusable). A key is in one of
 * the PROBES slots that begin at its home slot, and before the first FREE slot. No slot becomes FREE again, so a search
 * may end at a FREE slot.
 *
 * After the slots come the sizes of groups: the number of READY slots in each. A group is the counters of one scope
 * in one window. When no possible slot of a new key is FREE, VOID or expired, the key takes the slot of the counter
 * whose group is the largest, so that a scope with many identifiers replaces its own counters first.
 *
 * Only the worker that claimed a slot may make it VOID; otherwise a late write of this worker could corrupt a reused
 * slot. So a worker that dies leaks at most the slot that it had claimed.
 *
 * Two workers may miss the same key at the same time and claim one slot each. So a worker searches the other slots
 * again before it makes its slot READY: of two workers that see each other's slots, one makes its slot VOID.
 */

const WORDS = 8;
const HASH = 1;
const WINDOW = 4;
/** The lower half of the word is the window's period; the upper half is the number of the group. */
const PERIOD = 5;
const PERIOD_MASK = 0xffff;
const EXPIRES = 6;
const COUNT = 7;

/**
 * The number of a group is a keyed hash. Two groups with the same number count as one group until the window of one of
 * them ends; the counts of requests stay exact.
 */
const GROUPS = 2 ** 16;

/** Number of slots in which a key may be. */
const PROBES = 32;

// The states: the three lowest bits of a head.
const FREE = 0;
const TAKEN = 1;
const READY = 2;
const VOID = 3;
const DOOMED = 4;
const STATE = 7;
/** A bit of a READY head. It changes when a bucket's slot is renewed, so that no worker renews the slot once more. */
const GENERATION = 8;

/** Rounds of waiting for a slot that is TAKEN for the same key. Then the owner of the slot is considered dead. */
const PATIENCE = 200;

const MOST = 0xffffffff;

/** Seconds for which the slot of a bucket is kept after the bucket is empty. */
export const BUCKET_GRACE = 10;
/**
 * The slot of a bucket that expires within this number of seconds is claimed again before it is used. So no worker uses
 * a slot that another worker may see as expired. The bucket has been empty for several seconds then.
 */
const RENEWAL = 2;

/** The key to find: the hash of its name, and its window. */
export interface CounterKey {
  /** Four words. */
  readonly hash: Int32Array;
  /** The lower 32 bits of the window's start. */
  readonly window: number;
  /** 16 bits: the upper bits of the window's start, and the number of the period (0: second, 1: minute …). */
  readonly period: number;
  /** As `Counter.scope`. */
  readonly scope: string;
  /** Unix seconds. */
  readonly expires: number;
  /** The count of a new slot. */
  readonly count: number;
  /** Whether the slot is that of a bucket, whose count is a time and whose expiry is extended by `extend`. */
  readonly isBucket: boolean;
}

export interface CounterTableOptions {
  readonly buffer: SharedArrayBuffer;
  /** 0 to 255; unique among concurrent users of the buffer. */
  readonly owner: number;
  /** Unix seconds, from the clock that defines the windows. */
  readonly now: () => number;
  /** One word of the hash of a scope; only called for new keys. */
  readonly scopeHash: (scope: string) => number;
  /** Called for each counter that this user of the buffer replaces before its window has ended. Default: does nothing. */
  readonly onReplace?: () => void;
}

export class CounterTable {
  readonly #words: Int32Array;
  readonly #sizes: Int32Array;
  readonly #mask: number;
  readonly #owner: number;
  readonly #now: () => number;
  readonly #scopeHash: (scope: string) => number;
  readonly #onReplace: () => void;

  /** Bytes of a table; `slots` is a power of two, at least PROBES. */
  static bytes(slots: number): number {
    if (slots < PROBES || (slots & (slots - 1)) !== 0)
      throw new RangeError(`${slots} is not a power of two of at least ${PROBES}`);
    return (slots * WORDS + GROUPS) * Int32Array.BYTES_PER_ELEMENT;
  }

  constructor({ buffer, owner, now, scopeHash, onReplace = () => undefined }: CounterTableOptions) {
    const all = new Int32Array(buffer);
    this.#words = all.subarray(0, all.length - GROUPS);
    this.#sizes = all.subarray(all.length - GROUPS);
    this.#scopeHash = scopeHash;
    this.#onReplace = onReplace;
    this.#mask = this.#words.length / WORDS - 1;
    this.#owner = owner;
    this.#now = now;
  }

  /** The slot of the key; claims one if there is none. */
  find(key: CounterKey): number {
    const home = this.#homeOf(key);
    const ready = readyHead(key);
    for (let round = 0; ; round++) {
      const found = this.#searchSlot(key, { home, ready, round });
      if (found >= 0) return found;
    }
  }

  /** The slot of the key; -1 if there is none. */
  search(key: CounterKey): number {
    const home = this.#homeOf(key);
    const ready = readyHead(key);
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      const head = Atomics.load(this.#words, at);
      if (isReadyFor(head, ready) && this.#is(at, key)) return at;
      if ((head & STATE) === FREE) return -1;
    }
    return -1;
  }

  /** The count, as an unsigned number. */
  count(slot: number): number {
    return Atomics.load(this.#words, slot + COUNT) >>> 0;
  }

  /**
   * Adds the amount to the count and returns the new count. Returns 0, and changes nothing, if the count would exceed
   * the limit.
   */
  add(slot: number, limit: number, amount = 1): number {
    const words = this.#words;
    const at = slot + COUNT;
    for (let seen = Atomics.load(words, at); ; ) {
      const count = seen >>> 0;
      if (count + amount - 1 >= limit) return 0;
      const after = Math.min(MOST, count + amount);
      const now = Atomics.compareExchange(words, at, seen, after | 0);
      if (now === seen) return after;
      seen = now;
    }
  }

  /** Adds an amount without a limit, and returns the count, which is at most 4,294,967,295. */
  addAmount(slot: number, amount: number): number {
    const words = this.#words;
    const at = slot + COUNT;
    for (let seen = Atomics.load(words, at); ; ) {
      const count = Math.min(MOST, (seen >>> 0) + amount);
      const now = Atomics.compareExchange(words, at, seen, count | 0);
      if (now === seen) return count;
      seen = now;
    }
  }

  /**
   * Extends the expiry of a bucket's slot to this time (Unix seconds). To be called before the bucket is changed, so
   * that its slot cannot expire in between.
   */
  extend(slot: number, expires: number): void {
    if (this.#expires(slot) < expires) Atomics.store(this.#words, slot + EXPIRES, expires | 0);
  }

  /** Changes the count from one value to another. Returns false if it has another value. */
  exchange(slot: number, from: number, to: number): boolean {
    return Atomics.compareExchange(this.#words, slot + COUNT, from | 0, to | 0) === (from | 0);
  }

  /** Whether the slot has expired. */
  isExpired(slot: number): boolean {
    return this.#isOver(slot, this.#now());
  }

  /** Undoes an `add` of the amount. */
  remove(slot: number, amount = 1): void {
    const words = this.#words;
    const at = slot + COUNT;
    for (let seen = Atomics.load(words, at); seen !== 0; ) {
      const now = Atomics.compareExchange(words, at, seen, Math.max(0, (seen >>> 0) - amount) | 0);
      if (now === seen) return;
      seen = now;
    }
  }

  /** Number of counters whose windows have not ended. */
  held(): number {
    const now = this.#now();
    let held = 0;
    for (let at = 0; at < this.#words.length; at += WORDS) {
      if (((this.#words[at] ?? 0) & STATE) === READY && !this.#isOver(at, now)) held++;
    }
    return held;
  }

  #homeOf({ hash, window, period }: CounterKey): number {
    return mixed(hash[0] ?? 0, window, period) & this.#mask;
  }

  /** One round of a search. Returns the slot, or -1 when another worker interfered. */
  #searchSlot(key: CounterKey, { home, ready, round }: Search): number {
    const words = this.#words;
    let now = 0; // Read when it is needed: most keys are found without it.
    let usable = -1;
    let usableHead = 0;
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      const head = Atomics.load(words, at);
      if (isReadyFor(head, ready) && this.#is(at, key)) {
        if (!key.isBucket) return at;
        // Read before the expiry: a worker that fills the bucket extends the expiry first.
        const count = Atomics.load(words, at + COUNT);
        if (this.#isOver(at, this.#now() + RENEWAL)) return this.#claimSlot(key, { at, head, home, ready, count });
        // A worker that renews the slot writes the expiry first, and may still lose the slot.
        return Atomics.load(words, at) === head ? at : -1;
      }
      const state = head & STATE;
      if (state === TAKEN) {
        if (!isOf(head, ready)) continue;
        if (round > PATIENCE) Atomics.compareExchange(words, at, head, DOOMED);
        return -1;
      }
      if (state === DOOMED) continue;
      if (state === FREE) {
        if (usable < 0) {
          usable = at;
          usableHead = head;
        }
        break;
      }
      now ||= this.#now();
      if (state === VOID || this.#isOver(at, now)) {
        if (usable >= 0) continue;
        usable = at;
        usableHead = head;
      }
    }
    if (usable < 0) {
      usable = this.#ofLargestGroup(home);
      // Other workers are writing all slots in which the key may be.
      if (usable < 0) return -1;
      usableHead = Atomics.load(words, usable);
      if ((usableHead & STATE) !== READY) return -1;
      const claimed = this.#claimSlot(key, { at: usable, head: usableHead, home, ready });
      if (claimed >= 0) this.#onReplace();
      return claimed;
    }
    return this.#claimSlot(key, { at: usable, head: usableHead, home, ready });
  }

  /**
   * Of the slots in which a key with this home may be, the READY one whose group is the largest (of groups of equal
   * size, the one that expires first); -1: none is READY.
   */
  #ofLargestGroup(home: number): number {
    const words = this.#words;
    let found = -1;
    let largest = -1;
    let size = 0;
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      if ((Atomics.load(words, at) & STATE) !== READY) continue;
      const group = this.#groupAt(at);
      // For the group of the slot found so far, the size is not read again, because other workers change sizes
      // concurrently.
      const own = group === largest ? size : Atomics.load(this.#sizes, group);
      if (found >= 0 && (own < size || (own === size && this.#expires(at) >= this.#expires(found)))) continue;
      found = at;
      largest = group;
      size = own;
    }
    return found;
  }

  #claimSlot(key: CounterKey, { at, head, home, ready, count }: Claim): number {
    const words = this.#words;
    const taken = takenBy(this.#owner, ready);
    if (Atomics.compareExchange(words, at, head, taken) !== head) return -1;
    if ((head & STATE) === READY) Atomics.sub(this.#sizes, this.#groupAt(at), 1);
    const group = mixed(this.#scopeHash(key.scope), key.window, key.period) & (GROUPS - 1);
    words[at + HASH] = key.hash[0] ?? 0;
    words[at + HASH + 1] = key.hash[1] ?? 0;
    words[at + HASH + 2] = key.hash[2] ?? 0;
    words[at + WINDOW] = key.window;
    words[at + PERIOD] = key.period | (group << 16);
    words[at + EXPIRES] = key.expires | 0;
    // The count of a renewed slot is kept if another worker has filled the bucket since the count was read.
    if (count !== undefined) Atomics.compareExchange(words, at + COUNT, count, key.count);
    else Atomics.store(words, at + COUNT, key.count);
    const isAlone = this.#isAlone(key, { at, home, ready });
    const renewed = count === undefined ? ready : head ^ GENERATION;
    if (isAlone && Atomics.compareExchange(words, at, taken, renewed) === taken) {
      Atomics.add(this.#sizes, group, 1);
      return at;
    }
    Atomics.store(words, at, VOID);
    return -1;
  }

  /**
   * Whether no other worker has, or may get, a slot for the same key. A slot that is TAKEN for the key and comes later
   * in the search is made DOOMED.
   */
  #isAlone(key: CounterKey, { at: own, home, ready }: Omit<Claim, "head" | "count">): boolean {
    const words = this.#words;
    let isBefore = true;
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      if (at === own) {
        isBefore = false;
        continue;
      }
      const head = Atomics.load(words, at);
      if (head === FREE) return true;
      if (isReadyFor(head, ready) && this.#is(at, key)) return false;
      if ((head & STATE) !== TAKEN || !isOf(head, ready)) continue;
      if (isBefore || Atomics.compareExchange(words, at, head, DOOMED) !== head) return false;
    }
    return true;
  }

  #is(at: number, { hash, window, period }: CounterKey): boolean {
    const words = this.#words;
    return (
      words[at + HASH] === hash[0] &&
      words[at + HASH + 1] === hash[1] &&
      words[at + HASH + 2] === hash[2] &&
      words[at + WINDOW] === window &&
      ((words[at + PERIOD] ?? 0) & PERIOD_MASK) === period
    );
  }

  #groupAt(at: number): number {
    return (this.#words[at + PERIOD] ?? 0) >>> 16;
  }

  #isOver(at: number, now: number): boolean {
    return this.#expires(at) <= now;
  }

  #expires(at: number): number {
    return (this.#words[at + EXPIRES] ?? 0) >>> 0;
  }
}

interface Search {
  readonly home: number;
  /** The head of the key's slot in state READY and the first generation. */
  readonly ready: number;
  readonly round: number;
}

interface Claim {
  readonly at: number;
  /** The head that was read at `at`. */
  readonly head: number;
  readonly home: number;
  readonly ready: number;
  /** If the slot has been the same bucket's, the count that was read. */
  readonly count?: number;
}

/** Mixes a word of a hash with a window and its period. */
function mixed(word: number, window: number, period: number): number {
  const spread = Math.imul(window ^ (period << 24), 0x9e3779b1);
  return word ^ spread ^ (spread >>> 15);
}

/** The head of the key's slot in state READY and the first generation. */
const readyHead = ({ hash }: CounterKey): number => ((hash[3] ?? 0) & ~(GENERATION | STATE)) | READY;

/** Whether this is the head of the key's READY slot, in any generation. */
const isReadyFor = (head: number, ready: number): boolean => (head & ~GENERATION) === ready;

/** The head of a TAKEN slot: 21 bits of the key's hash, 8 bits of the owner, the state. */
const takenBy = (owner: number, ready: number): number => (ready & ~0x7ff) | (owner << 3) | TAKEN;

/** Whether a TAKEN slot may be for this key. */
const isOf = (taken: number, ready: number): boolean => ((taken ^ ready) & ~0x7ff) === 0;
