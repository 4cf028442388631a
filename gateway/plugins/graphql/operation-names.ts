/** The names under which operations are counted: a limited number, because clients choose them. */

/** The name of operations without one. */
export const UNNAMED_OPERATION = "(unnamed)";
/** The name of operations that cannot be read. */
export const UNKNOWN_OPERATION = "(unknown)";
const OTHER = "(other)";
/** Milliseconds for which a name is kept after its last use. */
const KEPT = 3_600_000;
/** Precision of the last use in milliseconds, so that most requests do not change the map. */
const GRAIN = 60_000;

interface KnownName {
  readonly name: string;
  /** Milliseconds since the epoch, in steps of `GRAIN`. */
  readonly lastUse: number;
}

export class OperationNames {
  readonly #limit: number;
  readonly #now: () => number;
  /** The name that was not used for the longest time comes first. */
  readonly #known = new Map<string, KnownName>();

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  /** The given name, or `(other)` if the limit is reached. */
  shown(name: string): string {
    if (name === UNNAMED_OPERATION || name === UNKNOWN_OPERATION) return name;
    const now = this.#now();
    const known = this.#known.get(name);
    if (known === undefined) return this.#admitted(name, now);
    if (now - known.lastUse >= GRAIN) {
      this.#known.delete(name);
      this.#known.set(name, { ...known, lastUse: now });
    }
    return known.name;
  }

  #admitted(given: string, now: number): string {
    const [oldest] = this.#known.values();
    if (oldest !== undefined && this.#known.size >= this.#limit) {
      if (now - oldest.lastUse < KEPT) return OTHER;
      this.#known.delete(oldest.name);
    }
    // A copy, because a substring keeps the whole query in memory.
    const name = Buffer.from(given).toString();
    this.#known.set(name, { name, lastUse: now });
    return name;
  }
}
