/** A deterministic network for simulations: messages are lost, delayed, reordered and repeated by a seed. */

/** Numbers from 0 to 1 (mulberry32), always the same for a seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Runs actions in the order of their times; actions of one time run in the order in which they were added. */
export class EventQueue {
  #time = 0;
  #added = 0;
  /** A binary heap. */
  readonly #heap: { readonly time: number; readonly order: number; readonly action: () => void }[] = [];

  get time(): number {
    return this.#time;
  }

  after(delay: number, action: () => void): void {
    const heap = this.#heap;
    heap.push({ time: this.#time + delay, order: this.#added++, action });
    let at = heap.length - 1;
    while (at > 0 && this.#isBefore(at, (at - 1) >> 1)) {
      this.#swap(at, (at - 1) >> 1);
      at = (at - 1) >> 1;
    }
  }

  runUntil(end: number): void {
    for (let [first] = this.#heap; first !== undefined && first.time <= end; [first] = this.#heap) {
      this.#removeFirst();
      this.#time = first.time;
      first.action();
    }
    this.#time = Math.max(this.#time, end);
  }

  #removeFirst(): void {
    const heap = this.#heap;
    this.#swap(0, heap.length - 1);
    heap.pop();
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.time < b.time || (a.time === b.time && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}

export interface NetworkOptions {
  readonly queue: EventQueue;
  readonly random: () => number;
  /** Part of the messages that are lost, but never more than three in a row between two nodes. */
  readonly loss: number;
  /** Part of the messages that arrive twice. */
  readonly repetition: number;
  /** Maximum delay of a message in milliseconds. */
  readonly delay: number;
}

const LOST_IN_A_ROW = 3;

export class SimulatedNetwork {
  readonly #options: NetworkOptions;
  readonly #lostInARow = new Map<string, number>();
  /** Nodes that exchange messages only with each other. */
  isolated: ReadonlySet<string> = new Set();
  messages = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  send(from: string, to: string, deliver: () => void): void {
    this.messages += 1;
    const { queue, random, loss, repetition, delay } = this.#options;
    if (this.isolated.has(from) !== this.isolated.has(to)) return;
    const link = `${from} ${to}`;
    const lost = this.#lostInARow.get(link) ?? 0;
    if (lost < LOST_IN_A_ROW && random() < loss) {
      this.#lostInARow.set(link, lost + 1);
      return;
    }
    this.#lostInARow.set(link, 0);
    for (let copies = random() < repetition ? 2 : 1; copies > 0; copies--) queue.after(random() * delay, deliver);
  }
}
