/**
 * How many interim responses (RFC 9110 section 15.2) one answer may have: they take no part in its flow, so nobody else
 * bounds them.
 */

/** As many as Go's and CPython's clients take. */
const MAX_COUNT = 100;
/** Bytes of their heads, all in all. */
const MAX_BYTES = 131_072;

export class InterimResponseLimit {
  #count = 0;
  #bytes = 0;

  /** For another answer. */
  reset(): void {
    this.#count = 0;
    this.#bytes = 0;
  }

  /** False when this one is too much. */
  allows(bytes: number): boolean {
    this.#count++;
    this.#bytes += bytes;
    return this.#count <= MAX_COUNT && this.#bytes <= MAX_BYTES;
  }
}
