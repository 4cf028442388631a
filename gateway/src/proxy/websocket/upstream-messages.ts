/** The text messages of an upstream, put together from its frames while these are passed on. */
import type { MessageObserver } from "@sluice/plugin-sdk";
import { FIRST_CONTROL, type FrameHead, opcode } from "./frames.ts";

/** Maximum number of parts in which a message arrives, because each takes memory beside its payload. */
const MAX_PARTS = 5000;

export class UpstreamMessages {
  readonly #observer: MessageObserver;
  /** The frame whose payload is passing, or the last one. */
  #frame: FrameHead | null = null;
  /** Whether the message that is passing is kept. */
  #isKept = false;
  #parts: Buffer[] = [];
  /** Bytes of the frames that have begun. */
  #length = 0;

  constructor(observer: MessageObserver) {
    this.#observer = observer;
  }

  /**
   * Adds a part of the payload of a frame.
   *
   * @param payload The memory must not be used again
   * @param frame The same object for all parts of a frame
   * @param isEnd Whether the frame ends with this part
   */
  add(payload: Buffer, frame: FrameHead, isEnd: boolean): void {
    const isControl = frame.opcode >= FIRST_CONTROL;
    if (frame !== this.#frame && !isControl) this.#begin(frame);
    this.#frame = frame;
    if (isControl || !this.#isKept) return;
    this.#parts.push(payload);
    if (isEnd && frame.isFinal) {
      const message = this.#parts.length === 1 ? payload : Buffer.concat(this.#parts);
      this.#drop();
      this.#observer.observe(message);
    } else if (this.#parts.length >= MAX_PARTS) this.#drop();
  }

  #begin({ opcode: code, isExtended, isMasked, length }: FrameHead): void {
    if (code !== opcode.continuation) {
      this.#drop();
      this.#isKept = code === opcode.text;
    }
    this.#length += length;
    if (isExtended || isMasked || this.#length > this.#observer.limit) this.#drop();
  }

  #drop(): void {
    this.#isKept = false;
    this.#parts = [];
    this.#length = 0;
  }
}
