import { once } from "node:events";
import { PassThrough, type Writable } from "node:stream";

/**
 * Writes the output of stages that overlap one after the other, in the order of their sections. The output of a section
 * is kept until all earlier sections have ended.
 */
export class OrderedOutput {
  readonly #target: Writable;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(target: Writable) {
    this.#target = target;
  }

  /** A new last section; the caller ends it. */
  section(): Writable {
    // Without a limit, so that a section does not wait for the sections before it.
    const section = new PassThrough({ highWaterMark: Number.MAX_SAFE_INTEGER });
    this.#ended = this.#ended.then(() => {
      const end = once(section, "end");
      section.pipe(this.#target, { end: false });
      return end;
    });
    return section;
  }

  /** Resolves when all sections have been written. */
  async ended(): Promise<void> {
    await this.#ended;
  }
}
