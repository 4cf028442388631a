/**
 * Splits the bytes of a peer into frames (RFC 9113 section 4). The payload of DATA is passed on as it arrives; other
 * payloads are passed on when they are complete.
 */
import type { ByteView } from "../../sockets/byte-view.ts";
import {
  errorCode,
  FRAME_HEADER,
  type FrameErrorCode,
  frameType,
  MAX_FRAME,
  PADDED,
  PREFACE,
  STREAM_ID,
} from "./frame-types.ts";

export interface FrameHeader {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Bytes of the payload. */
  readonly length: number;
}

/** Receives frames. Views and bytes are valid only during the call. */
export interface FrameReceiver {
  /** A frame other than DATA; its payload is in `bytes` from `start` to `end`. */
  frame(header: FrameHeader, bytes: Buffer, range: { readonly start: number; readonly end: number }): void;
  /** Called when a DATA frame begins. */
  dataBegan(header: FrameHeader): void;
  /** A part of the content of the current DATA frame, without padding. */
  data(view: ByteView): void;
  /** Called when the current DATA frame is complete. */
  dataEnded(): void;
  /** Called when the input violates the framing; the rest of it is ignored. */
  broken(code: FrameErrorCode): void;
}

const IN_PREFACE = 0;
const IN_HEADER = 1;
const IN_PAYLOAD = 2;
/** Before the length of the padding. */
const IN_PAD_LENGTH = 3;
const IN_DATA = 4;
const IN_PADDING = 5;
const STOPPED = 6;

export class FrameReader implements FrameHeader {
  type = 0;
  flags = 0;
  stream = 0;
  length = 0;
  /** Number of frames so far, with the current one. */
  frames = 0;
  readonly #receiver: FrameReceiver;
  #state: number;
  /** Bytes of the preface, of an incomplete header or of an incomplete payload that were received. */
  #kept = 0;
  /** An incomplete header. Empty until the first one, because most connections have none. */
  #header: Buffer = NOTHING;
  /** Contains an incomplete payload. */
  #payload: Buffer = NOTHING;
  /** Remaining bytes of the DATA frame. */
  #left = 0;
  #padding = 0;

  /** @param hasPreface Whether the peer is a client, whose first bytes are the preface */
  constructor(receiver: FrameReceiver, { hasPreface }: { readonly hasPreface: boolean }) {
    this.#receiver = receiver;
    this.#state = hasPreface ? IN_PREFACE : IN_HEADER;
  }

  /** Whether a frame other than DATA is incomplete. */
  get isInPayload(): boolean {
    return this.#state === IN_PAYLOAD;
  }

  /** Ignores all further input. */
  stop(): void {
    this.#state = STOPPED;
    this.#payload = NOTHING;
  }

  read(view: ByteView): void {
    const { bytes, end } = view;
    let at = view.start;
    while (at < end && this.#state !== STOPPED) {
      if (this.#state === IN_HEADER) at = this.#readHeader(bytes, at, end);
      else if (this.#state === IN_PAYLOAD) at = this.#readPayload(bytes, at, end);
      else if (this.#state === IN_DATA) at = this.#readData(view, at);
      else if (this.#state === IN_PREFACE) at = this.#readPreface(bytes, at, end);
      else if (this.#state === IN_PAD_LENGTH) this.#readPadLength(bytes[at++] ?? 0);
      else at = this.#skipPadding(at, end);
    }
  }

  #break(code: FrameErrorCode): void {
    this.stop();
    this.#receiver.broken(code);
  }

  #readPreface(bytes: Buffer, start: number, end: number): number {
    const stop = Math.min(end, start + PREFACE.length - this.#kept);
    for (let at = start; at < stop; at++) {
      if (bytes[at] === PREFACE[this.#kept++]) continue;
      this.#break(errorCode.protocolError);
      return end;
    }
    if (this.#kept === PREFACE.length) this.#next();
    return stop;
  }

  #next(): void {
    this.#kept = 0;
    this.#state = IN_HEADER;
  }

  #readHeader(bytes: Buffer, start: number, end: number): number {
    if (this.#kept === 0 && end - start >= FRAME_HEADER) {
      this.#begin(bytes, start);
      return start + FRAME_HEADER;
    }
    const size = Math.min(FRAME_HEADER - this.#kept, end - start);
    if (this.#header.length === 0) this.#header = Buffer.alloc(FRAME_HEADER);
    bytes.copy(this.#header, this.#kept, start, start + size);
    this.#kept += size;
    if (this.#kept === FRAME_HEADER) this.#begin(this.#header, 0);
    return start + size;
  }

  #begin(bytes: Buffer, at: number): void {
    this.#kept = 0;
    this.frames++;
    this.length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    this.type = bytes[at + 3] ?? 0;
    this.flags = bytes[at + 4] ?? 0;
    this.stream = wordAt(bytes, at + 5) & STREAM_ID;
    if (this.length > MAX_FRAME) {
      this.#break(errorCode.frameSizeError);
      return;
    }
    if (this.type !== frameType.data) {
      this.#state = IN_PAYLOAD;
      if (this.length === 0) this.#readPayload(NOTHING, 0, 0);
      return;
    }
    const isPadded = (this.flags & PADDED) !== 0;
    if (isPadded && this.length === 0) {
      this.#break(errorCode.frameSizeError);
      return;
    }
    this.#padding = 0;
    this.#left = this.length;
    this.#state = isPadded ? IN_PAD_LENGTH : IN_DATA;
    this.#receiver.dataBegan(this);
    if (!isPadded) this.#endData();
  }

  #readPadLength(padding: number): void {
    this.#left--;
    if (padding > this.#left) {
      this.#break(errorCode.protocolError);
      return;
    }
    this.#padding = padding;
    this.#left -= padding;
    this.#state = IN_DATA;
    this.#endData();
  }

  #readData(view: ByteView, at: number): number {
    const stop = Math.min(view.end, at + this.#left);
    this.#left -= stop - at;
    this.#receiver.data(view.part(at, stop));
    this.#endData();
    return stop;
  }

  /** Ends the frame when all of its content has arrived. The receiver may have stopped the reader. */
  #endData(): void {
    if (this.#left > 0 || this.#state === STOPPED) return;
    if (this.#padding > 0) this.#state = IN_PADDING;
    else {
      this.#next();
      this.#receiver.dataEnded();
    }
  }

  #skipPadding(start: number, end: number): number {
    const size = Math.min(this.#padding, end - start);
    this.#padding -= size;
    this.#endData();
    return start + size;
  }

  #readPayload(bytes: Buffer, start: number, end: number): number {
    const { length } = this;
    if (this.#kept === 0 && end - start >= length) {
      this.#next();
      this.#receiver.frame(this, bytes, { start, end: start + length });
      return start + length;
    }
    if (this.#kept === 0) this.#payload = Buffer.allocUnsafe(length);
    const size = Math.min(length - this.#kept, end - start);
    bytes.copy(this.#payload, this.#kept, start, start + size);
    this.#kept += size;
    if (this.#kept === length) {
      const payload = this.#payload;
      this.#payload = NOTHING;
      this.#next();
      this.#receiver.frame(this, payload, { start: 0, end: length });
    }
    return start + size;
  }
}

const NOTHING = Buffer.alloc(0);

/** A number of 32 bits, with the sign bit as in JavaScript's operators. */
export const wordAt = (bytes: Buffer, at: number): number =>
  ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
