/**
 * Limits the interim responses (RFC 9110 section 15.2) before one final response: they are not subject to flow control,
 * so nothing else bounds them.
 */

/** The same limit as in Go's and CPython's clients. */
const MAX_COUNT = 100;
/** Total bytes of their heads. */
const MAX_BYTES = 131_072;

export class InterimResponseLimit {
  #count = 0;
  #bytes = 0;

  /** Prepares for the next response. */
  reset(): void {
    this.#count = 0;
    this.#bytes = 0;
  }

  /** Returns false when this interim response exceeds a limit. */
  allows(bytes: number): boolean {
    this.#count++;
    this.#bytes += bytes;
    return this.#count <= MAX_COUNT && this.#bytes <= MAX_BYTES;
  }
}
