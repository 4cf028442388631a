/** Frames of WebSocket (RFC 6455 section 5). */

/** Opcodes of RFC 6455 section 5.2. */
export const opcode = { continuation: 0, text: 1, binary: 2, close: 8 } as const;
/** From this opcode on, frames are control frames, which may stand between the frames of a message. */
export const FIRST_CONTROL = 8;

const SHORT = 125;
const TWO_BYTES = 126;
const MAX_TWO_BYTES = 0xffff;
const MASK_BYTES = 4;
const FINAL = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;

export interface FrameHead {
  readonly opcode: number;
  readonly isFinal: boolean;
  /** Whether a bit of an extension is set. */
  readonly isExtended: boolean;
  readonly isMasked: boolean;
  /** Bytes of the head, with the mask. */
  readonly size: number;
  /** Bytes of the payload. */
  readonly length: number;
}

/** The head of the frame that begins at the offset; null: it is incomplete. */
export function readFrameHead(bytes: Buffer, at: number): FrameHead | null {
  if (bytes.length < at + 2) return null;
  const [first = 0, second = 0] = [bytes[at], bytes[at + 1]];
  const short = second & ~MASKED;
  const isMasked = (second & MASKED) !== 0;
  const extended = short <= SHORT ? 0 : short === TWO_BYTES ? 2 : 8;
  const size = 2 + extended + (isMasked ? MASK_BYTES : 0);
  if (bytes.length < at + size) return null;
  const length =
    extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
  const isFinal = (first & FINAL) !== 0;
  return { opcode: first & 0x0f, isFinal, isExtended: (first & RESERVED) !== 0, isMasked, size, length };
}

/** The payload of a complete masked frame, without its mask. */
export function unmasked(frame: Buffer, { size, length }: FrameHead): Buffer {
  const payload = Buffer.allocUnsafe(length);
  const mask = size - MASK_BYTES;
  for (let at = 0; at < length; at++) payload[at] = (frame[size + at] ?? 0) ^ (frame[mask + (at & 3)] ?? 0);
  return payload;
}

/** @param mask Four bytes for a frame of a client; null: the frame is one of a server */
export function webSocketFrame(code: number, payload: Buffer, mask: Buffer | null): Buffer {
  const { length } = payload;
  const extended = length <= SHORT ? 0 : length <= MAX_TWO_BYTES ? 2 : 8;
  const size = 2 + extended + (mask === null ? 0 : MASK_BYTES);
  const frame = Buffer.allocUnsafe(size + length);
  frame[0] = FINAL | code;
  frame[1] = (mask === null ? 0 : MASKED) | (extended === 0 ? length : extended === 2 ? TWO_BYTES : TWO_BYTES + 1);
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  mask?.copy(frame, size - MASK_BYTES);
  payload.copy(frame, size);
  if (mask !== null) for (let at = 0; at < length; at++) frame[size + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return frame;
}

/** @param reason At most 123 bytes */
export function closePayload(code: number, reason: string): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code);
  payload.write(reason, 2);
  return payload;
}

/** Finds out where the frames of one side begin, without keeping their payloads. */
export class FrameBoundaries {
  /** Bytes of an incomplete head. */
  #head: Buffer = NOTHING;
  /** Bytes of the payload that are to come. */
  #left = 0;
  /** The head of the last frame, of which no or some bytes are to come; null: the head is incomplete. */
  frame: FrameHead | null = null;
  /** Where the payload of this frame begins in the bytes that were passed last. */
  payloadStart = 0;

  /** Whether the next byte begins a frame. */
  get isBetweenFrames(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  /**
   * Passes over bytes up to the end of the first frame that ends in them.
   *
   * @returns The offset after the frame; if none ends, the number of bytes
   */
  pass(bytes: Buffer): number {
    let at = 0;
    if (this.#left === 0) {
      const before = this.#head.length;
      const joined = before === 0 ? bytes : Buffer.concat([this.#head, bytes]);
      const head = readFrameHead(joined, 0);
      if (head === null) {
        this.#head = Buffer.from(joined);
        this.frame = null;
        return bytes.length;
      }
      this.#head = NOTHING;
      this.#left = head.length;
      this.frame = head;
      at = head.size - before;
    }
    this.payloadStart = at;
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    return at + taken;
  }
}

const NOTHING = Buffer.alloc(0);
