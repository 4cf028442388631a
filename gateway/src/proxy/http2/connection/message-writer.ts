/** Writes the head, the data and the trailers of one message to a stream, within the windows of the peer. */

import { isStrippedHeader } from "../../headers/upstream-headers.ts";
import type { ByteView } from "../../sockets/byte-view.ts";
import { isPseudo } from "../fields.ts";
import { END_HEADERS, END_STREAM, frameType, MAX_FRAME, MAX_WINDOW } from "../frames/frame-types.ts";
import type { HpackEncoder } from "../hpack/encoder.ts";
import { type QueuedMessage, type SendPriority, type SendScheduler, usualPriority } from "./send-scheduler.ts";

/** Queued bytes at which the source of the data is not read any more. */
const HIGH_WATER_MARK = 65_536;

export abstract class MessageWriter implements QueuedMessage {
  window: number;
  priority: SendPriority = usualPriority;
  /** Bytes written so far, whether they have left or not; heads are counted as HTTP/1.1 lines. */
  written = 0;
  /** Bytes that had to wait for the peer and have left. */
  taken = 0;
  /** Whether the message has been written completely, or nothing more is to be written. */
  protected isOver = false;
  /** Whether the message is complete, apart from queued data. */
  protected isComplete = false;
  /** Whether trailers may follow the data. */
  protected mayTrail = false;
  protected readonly id: number;
  protected readonly scheduler: SendScheduler;
  /** Data that the peer does not accept yet. */
  #queue: Buffer[] = [];
  #queued = 0;
  #trailers: readonly string[] | null = null;
  /** The place of the last frame with content: see `FrameOutput.endStream`. */
  #generation = -1;
  #flagsAt = 0;

  constructor(id: number, scheduler: SendScheduler) {
    this.id = id;
    this.scheduler = scheduler;
    this.window = scheduler.initialWindow;
  }

  /** Called when the peer accepts data again, after `isTaking` was false. */
  protected abstract onDrained(): void;
  /** Called when the message has been written completely. */
  protected abstract onEnded(): void;
  /** Called when data was queued. */
  protected onQueued(): void {}
  /** Called when queued data was written; `queuedBytes` is what remains. */
  protected onTaken(): void {}

  /** Whether the peer accepts data now; otherwise `onDrained` is called later. */
  get isTaking(): boolean {
    return this.#queued < HIGH_WATER_MARK;
  }

  protected get queuedBytes(): number {
    return this.#queued;
  }

  widen(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_WINDOW;
  }

  data(view: ByteView): void {
    if (this.isOver || this.isComplete) return;
    this.written += view.length;
    const room = this.#queued > 0 ? 0 : this.scheduler.roomFor(this.window);
    const size = Math.min(room, view.length);
    for (let at = view.start; at < view.start + size; ) {
      const end = Math.min(at + MAX_FRAME, view.start + size);
      this.#writeData(view.bytes, at, end);
      at = end;
    }
    if (size === view.length) return;
    if (this.#queued === 0) this.scheduler.add(this);
    const rest = view.part(view.start + size, view.end);
    rest.keepIn(this.#queue);
    this.#queued += rest.length;
    this.onQueued();
    // The other queued messages may wait for windows of their own.
    this.scheduler.pump();
  }

  /** @param trailers Flat list; sent only if `mayTrail` is true */
  end(trailers: readonly string[] | null): void {
    if (this.isOver || this.isComplete) return;
    this.isComplete = true;
    if (this.mayTrail && trailers !== null && trailers.length > 0) this.#trailers = trailers;
    if (this.#queued === 0) this.#writeEnd();
  }

  writeQueued(): boolean {
    const [first] = this.#queue;
    if (first === undefined) return false;
    const size = Math.min(first.length, MAX_FRAME, this.window, this.scheduler.window);
    this.#writeData(first, 0, size);
    if (size === first.length) this.#queue.shift();
    else this.#queue[0] = first.subarray(size);
    const wasTaking = this.isTaking;
    this.#queued -= size;
    this.taken += size;
    this.onTaken();
    if (this.#queued === 0 && this.isComplete) this.#writeEnd();
    if (!this.isOver && !wasTaking && this.isTaking) this.onDrained();
    return this.#queued > 0;
  }

  /** Called when the stream has closed: nothing more is written. */
  close(): void {
    this.isOver = true;
    if (this.#queued > 0) this.scheduler.remove(this);
    this.#queue = [];
    this.#queued = 0;
    this.onTaken();
  }

  /** Writes the block that the encoder contains. */
  protected writeBlock({ bytes, length }: HpackEncoder, flags: number): void {
    const { id } = this;
    const { output } = this.scheduler;
    const first = Math.min(length, MAX_FRAME);
    const isWhole = first === length;
    output.frame(frameType.headers, flags | (isWhole ? END_HEADERS : 0), id, { bytes, start: 0, end: first });
    this.#generation = output.generation;
    this.#flagsAt = output.lastFlags;
    for (let start = first; start < length; start += MAX_FRAME) {
      const end = Math.min(start + MAX_FRAME, length);
      output.frame(frameType.continuation, end === length ? END_HEADERS : 0, id, { bytes, start, end });
    }
  }

  /** To be called when the message has been written completely. */
  protected finish(): void {
    this.isComplete = true;
    this.isOver = true;
    this.onEnded();
  }

  #writeData(bytes: Buffer, start: number, end: number): void {
    const { scheduler } = this;
    scheduler.output.frame(frameType.data, 0, this.id, { bytes, start, end });
    this.#generation = scheduler.output.generation;
    this.#flagsAt = scheduler.output.lastFlags;
    scheduler.window -= end - start;
    this.window -= end - start;
  }

  #writeEnd(): void {
    const { output, encoder } = this.scheduler;
    if (this.#trailers !== null) {
      encoder.begin();
      encodePassed(encoder, this.#trailers);
      this.written += encoder.textSize;
      this.writeBlock(encoder, END_STREAM);
    } else if (!output.endStream(this.#generation, this.#flagsAt)) output.frame(frameType.data, END_STREAM, this.id);
    this.finish();
  }
}

/**
 * Encodes an interim response or trailers. Fields that affect framing, routing or identity are dropped (RFC 9110 section
 * 6.5.1).
 */
export function encodePassed(encoder: HpackEncoder, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) {
    const lower = (headers[at] ?? "").toLowerCase();
    if (!isPseudo(lower) && !isStrippedHeader(lower)) encoder.field(lower, headers[at + 1] ?? "");
  }
}
