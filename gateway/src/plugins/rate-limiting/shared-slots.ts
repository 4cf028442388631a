/**
 * The memory in which all workers of a node count: a table of fixed size with open addressing, in which every change is
 * one compare-and-swap. Nobody waits for anybody: a worker that dies in the middle of something stops nobody.
 *
 * A slot is eight words: a head, three words of the name's hash (the rest of its 128 bits stands in the head, but for
 * three), the window, when the window is over, and the count. It is free, taken (somebody is about to write it), ready,
 * doomed (it was taken in vain, and whoever took it may still write it) or void (to be used again). A key lies in one
 * of PROBES slots from its home on, before the first one that is free; no slot becomes free again, so whoever meets a
 * free one has seen all.
 *
 * Behind the slots stand the sizes of groups: how many ready slots each has. A group is the counters of one plugin
 * instance in one window. When none of the slots that a new key may lie in is free, void or over, it replaces the
 * counter whose group is the largest, so that an instance that counts many identifiers replaces its own counters
 * before those of another.
 *
 * Nobody but who took a slot makes it void, since it would write into another's else: of one that died a slot is lost.
 *
 * Two workers may miss the same key at the same time and take a slot each. So who has taken one looks through the
 * others again before it makes it ready: of two that see each other one makes way.
 */

const WORDS = 8;
const HASH = 1;
const WINDOW = 4;
/** The lower half of the word is of the window; the upper half is the group's number. */
const PERIOD = 5;
const PERIOD_MASK = 0xffff;
const EXPIRES = 6;
const COUNT = 7;

/**
 * Groups are numbered by a keyed hash. Two that have the same number count as one until the window of one is over;
 * counting itself stays exact.
 */
const GROUPS = 2 ** 16;

/** How many slots a key may lie in. */
const PROBES = 32;

/** The three lowest bits of a head. */
const FREE = 0;
const TAKEN = 1;
const READY = 2;
const VOID = 3;
const DOOMED = 4;
const STATE = 7;

/** Rounds in which a taken slot of the same key may become ready, before its owner counts as dead. */
const PATIENCE = 200;

/** A count goes no further. */
const MOST = 0xffffffff;

/** Looked for: the hash of its name, and its window. */
export interface Sought {
  /** Four words. */
  readonly hash: Int32Array;
  /** A word and 16 bits that tell windows and periods apart. */
  readonly window: number;
  readonly period: number;
  /** The plugin instance that counts. */
  readonly instance: string;
  /** Unix seconds. */
  readonly expires: number;
}

export interface SharedSlotsOptions {
  readonly buffer: SharedArrayBuffer;
  /** 0 to 255; no two that use the buffer at a time have the same. */
  readonly owner: number;
  /** Unix seconds, by the clock that the windows are cut with. */
  readonly now: () => number;
  /** A word from the hash of an instance's name; asked for new keys only. */
  readonly instanceHash: (instance: string) => number;
}

export class SharedSlots {
  readonly #words: Int32Array;
  readonly #sizes: Int32Array;
  readonly #mask: number;
  readonly #owner: number;
  readonly #now: () => number;
  readonly #instanceHash: (instance: string) => number;

  /** Bytes of a table; `slots` is a power of two, PROBES at the least. */
  static bytes(slots: number): number {
    if (slots < PROBES || (slots & (slots - 1)) !== 0)
      throw new RangeError(`${slots} is no power of two from ${PROBES}`);
    return (slots * WORDS + GROUPS) * Int32Array.BYTES_PER_ELEMENT;
  }

  constructor({ buffer, owner, now, instanceHash }: SharedSlotsOptions) {
    const all = new Int32Array(buffer);
    this.#words = all.subarray(0, all.length - GROUPS);
    this.#sizes = all.subarray(all.length - GROUPS);
    this.#instanceHash = instanceHash;
    this.#mask = this.#words.length / WORDS - 1;
    this.#owner = owner;
    this.#now = now;
  }

  /** Where the key is counted, from now on at the latest. */
  find(sought: Sought): number {
    const { hash, window, period } = sought;
    const home = mixed(hash[0] ?? 0, window, period) & this.#mask;
    const ready = ((hash[3] ?? 0) & ~STATE) | READY;
    for (let round = 0; ; round++) {
      const found = this.#look(sought, { home, ready, round });
      if (found >= 0) return found;
    }
  }

  /** Unsigned. */
  count(slot: number): number {
    return Atomics.load(this.#words, slot + COUNT) >>> 0;
  }

  /** The count with one more; 0 when that would be more than the limit. */
  add(slot: number, limit: number): number {
    const words = this.#words;
    const at = slot + COUNT;
    for (let seen = Atomics.load(words, at); ; ) {
      const count = seen >>> 0;
      if (count >= limit) return 0;
      if (count === MOST) return count;
      const now = Atomics.compareExchange(words, at, seen, (count + 1) | 0);
      if (now === seen) return count + 1;
      seen = now;
    }
  }

  /** Takes one back that was added for nothing. */
  remove(slot: number): void {
    const words = this.#words;
    const at = slot + COUNT;
    for (let seen = Atomics.load(words, at); seen !== 0; ) {
      const now = Atomics.compareExchange(words, at, seen, (seen - 1) | 0);
      if (now === seen) return;
      seen = now;
    }
  }

  /** How many counters stand in it whose windows are not over. */
  held(): number {
    const now = this.#now();
    let held = 0;
    for (let at = 0; at < this.#words.length; at += WORDS) {
      if (((this.#words[at] ?? 0) & STATE) === READY && !this.#isOver(at, now)) held++;
    }
    return held;
  }

  /** One round: the slot, or -1 when somebody came in between. */
  #look(sought: Sought, { home, ready, round }: Search): number {
    const words = this.#words;
    const now = this.#now();
    let usable = -1;
    let usableHead = 0;
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      const head = Atomics.load(words, at);
      if (head === ready && this.#is(at, sought)) return at;
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
      if (state === VOID || this.#isOver(at, now)) {
        if (usable >= 0) continue;
        usable = at;
        usableHead = head;
      }
    }
    if (usable < 0) {
      usable = this.#ofLargestGroup(home);
      // Every slot is being written by another worker.
      if (usable < 0) return -1;
      usableHead = Atomics.load(words, usable);
      if ((usableHead & STATE) !== READY) return -1;
    }
    return this.#take(sought, { at: usable, head: usableHead, home, ready });
  }

  /** The ready slot whose group is the largest, of several in groups of one size the one that is over soonest; or -1. */
  #ofLargestGroup(home: number): number {
    const words = this.#words;
    let found = -1;
    let largest = -1;
    let size = 0;
    for (let probe = 0; probe < PROBES; probe++) {
      const at = ((home + probe) & this.#mask) * WORDS;
      if ((Atomics.load(words, at) & STATE) !== READY) continue;
      const group = this.#groupAt(at);
      // Read once for each group, because other workers change it meanwhile.
      const own = group === largest ? size : Atomics.load(this.#sizes, group);
      if (found >= 0 && (own < size || (own === size && this.#expires(at) >= this.#expires(found)))) continue;
      found = at;
      largest = group;
      size = own;
    }
    return found;
  }

  #take(sought: Sought, { at, head, home, ready }: Claim): number {
    const words = this.#words;
    const taken = takenBy(this.#owner, ready);
    if (Atomics.compareExchange(words, at, head, taken) !== head) return -1;
    if ((head & STATE) === READY) Atomics.sub(this.#sizes, this.#groupAt(at), 1);
    const group = mixed(this.#instanceHash(sought.instance), sought.window, sought.period) & (GROUPS - 1);
    words[at + HASH] = sought.hash[0] ?? 0;
    words[at + HASH + 1] = sought.hash[1] ?? 0;
    words[at + HASH + 2] = sought.hash[2] ?? 0;
    words[at + WINDOW] = sought.window;
    words[at + PERIOD] = sought.period | (group << 16);
    words[at + EXPIRES] = sought.expires | 0;
    Atomics.store(words, at + COUNT, 0);
    const isAlone = this.#isAlone(sought, { at, home, ready });
    if (isAlone && Atomics.compareExchange(words, at, taken, ready) === taken) {
      Atomics.add(this.#sizes, group, 1);
      return at;
    }
    Atomics.store(words, at, VOID);
    return -1;
  }

  /** Whether nobody else has, or may get, a slot for the same key. A later one that is taken is doomed. */
  #isAlone(sought: Sought, { at: own, home, ready }: Omit<Claim, "head">): boolean {
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
      if (head === ready && this.#is(at, sought)) return false;
      if ((head & STATE) !== TAKEN || !isOf(head, ready)) continue;
      if (isBefore || Atomics.compareExchange(words, at, head, DOOMED) !== head) return false;
    }
    return true;
  }

  #is(at: number, { hash, window, period }: Sought): boolean {
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
  /** The head of the key's slot when it is ready. */
  readonly ready: number;
  readonly round: number;
}

interface Claim {
  readonly at: number;
  /** What was seen there. */
  readonly head: number;
  readonly home: number;
  readonly ready: number;
}

/** A word of a hash with a window and its period. */
function mixed(word: number, window: number, period: number): number {
  const spread = Math.imul(window ^ (period << 24), 0x9e3779b1);
  return word ^ spread ^ (spread >>> 15);
}

/** A head of a slot that is taken: 21 bits of the key's, 8 of who took it, the state. */
const takenBy = (owner: number, ready: number): number => (ready & ~0x7ff) | (owner << 3) | TAKEN;

/** Whether a taken slot may be for this key. */
const isOf = (taken: number, ready: number): boolean => ((taken ^ ready) & ~0x7ff) === 0;
