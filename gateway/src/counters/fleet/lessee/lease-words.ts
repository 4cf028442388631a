/**
 * The tokens of a lease, in memory that the workers of a node may share: the control thread adds tokens that the owner
 * has granted, and every worker takes them, each with one atomic operation. A token is taken once.
 */

/** Words of one lease. Sums of tokens are kept modulo 2 ** 32; their differences are small. */
const word = {
  /** Changes when the words are used for another lease. */
  generation: 0,
  /** Tokens that were granted. */
  granted: 1,
  /** Tokens that were taken by requests or given back. */
  taken: 2,
  /** More tokens should be leased when no more than this number is left; -1: never in advance. */
  low: 3,
  /** 1: the control thread knows that few tokens are left. */
  isLowKnown: 4,
  /** The value of the counter, less `taken`. */
  base: 5,
} as const;

const WORDS = 8;

/** Sent to workers in a message. */
export type LeaseMemory = SharedArrayBuffer;

export const createLeaseMemory = (capacity: number): LeaseMemory =>
  new SharedArrayBuffer(capacity * WORDS * Int32Array.BYTES_PER_ELEMENT);

/** Identifies the words of a lease to workers. */
export interface LeasePlace {
  readonly slot: number;
  readonly generation: number;
}

/** What a worker must know to spend tokens of a counter by itself. */
export interface WorkerLease extends LeasePlace {
  /** Milliseconds for which requests are refused if no token is held; Infinity: until the window ends. */
  readonly refused: number;
  /** As `CounterResult.previous`. */
  readonly previous: number;
}

export class LeaseWords {
  readonly #words: Int32Array;
  readonly #slot: number;

  private constructor(words: Int32Array, slot: number) {
    this.#words = words;
    this.#slot = slot;
  }

  /** Words of this thread only. */
  static own(): LeaseWords {
    return new LeaseWords(new Int32Array(WORDS), -1);
  }

  /** @param slot Number of the lease in the memory */
  static shared(memory: LeaseMemory, slot: number): LeaseWords {
    return new LeaseWords(new Int32Array(memory, slot * WORDS * Int32Array.BYTES_PER_ELEMENT, WORDS), slot);
  }

  get place(): LeasePlace {
    return { slot: this.#slot, generation: this.#load(word.generation) };
  }

  /** Tokens that may be taken. Other threads may take them at any time. */
  get held(): number {
    return (this.#load(word.granted) - this.#load(word.taken)) | 0;
  }

  /** The value of the counter as of `setCount`, and the tokens that were taken since. */
  get count(): number {
    return (this.#load(word.base) + this.#load(word.taken)) >>> 0;
  }

  setCount(count: number): void {
    Atomics.store(this.#words, word.base, (count - this.#load(word.taken)) | 0);
  }

  grant(tokens: number): void {
    Atomics.add(this.#words, word.granted, tokens);
  }

  /** Takes up to `most` tokens, and returns the number. */
  take(most: number): number {
    for (;;) {
      const taken = this.#load(word.taken);
      const tokens = Math.min(most, (this.#load(word.granted) - taken) | 0);
      if (tokens <= 0) return 0;
      if (Atomics.compareExchange(this.#words, word.taken, taken, (taken + tokens) | 0) === taken) return tokens;
    }
  }

  /** Takes this number of tokens; false: there are fewer, and none is taken. */
  takeAll(tokens: number): boolean {
    for (;;) {
      const taken = this.#load(word.taken);
      if (((this.#load(word.granted) - taken) | 0) < tokens) return false;
      if (Atomics.compareExchange(this.#words, word.taken, taken, (taken + tokens) | 0) === taken) return true;
    }
  }

  /**
   * Takes tokens for a worker, if the words still belong to the lease. The order matters: `free` changes `taken`
   * last, so that a worker that read it before takes nothing of the next lease.
   */
  takeOf({ generation }: LeasePlace, tokens: number): boolean {
    for (;;) {
      const taken = this.#load(word.taken);
      const held = (this.#load(word.granted) - taken) | 0;
      if (this.#load(word.generation) !== generation || held < tokens) return false;
      if (Atomics.compareExchange(this.#words, word.taken, taken, (taken + tokens) | 0) === taken) return true;
    }
  }

  /** Puts tokens back that no request needs. */
  putBack(tokens: number): void {
    Atomics.sub(this.#words, word.taken, tokens);
  }

  /** Counts tokens that no owner has granted as taken. */
  borrow(tokens: number): void {
    Atomics.add(this.#words, word.taken, tokens);
    Atomics.add(this.#words, word.granted, tokens);
  }

  /** Workers report once when no more than `tokens` are left; -1: never. */
  setLow(tokens: number): void {
    Atomics.store(this.#words, word.low, tokens);
    Atomics.store(this.#words, word.isLowKnown, 0);
  }

  /** Whether few tokens are left, and no worker has reported it. */
  reportLow(): boolean {
    return this.held <= this.#load(word.low) && Atomics.compareExchange(this.#words, word.isLowKnown, 0, 1) === 0;
  }

  /** The words will be used for another lease. */
  free(): void {
    Atomics.add(this.#words, word.generation, 1);
    Atomics.store(this.#words, word.low, -1);
    const taken = Atomics.add(this.#words, word.taken, 1) + 1;
    Atomics.store(this.#words, word.granted, taken);
  }

  #load(index: number): number {
    return Atomics.load(this.#words, index);
  }
}

/** The words of all leases of a node. */
export class LeaseSlots {
  readonly #memory: LeaseMemory;
  readonly #free: number[] = [];
  readonly #capacity: number;
  #used = 0;

  constructor(memory: LeaseMemory) {
    this.#memory = memory;
    this.#capacity = memory.byteLength / (WORDS * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Throws if all slots are in use: there must be more slots than leases. */
  allocate(): LeaseWords {
    const slot = this.#free.pop() ?? this.#used++;
    if (slot >= this.#capacity) throw new Error("all slots for leases are in use");
    return LeaseWords.shared(this.#memory, slot);
  }

  free(words: LeaseWords): void {
    words.free();
    this.#free.push(words.place.slot);
  }
}
