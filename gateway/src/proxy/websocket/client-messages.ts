/** The messages that a client sends over a WebSocket, put together from its frames. */
import { FIRST_CONTROL, type FrameHead, opcode, readFrameHead, unmasked } from "./frames.ts";

/** Codes of Close frames (RFC 6455 section 7.4.1). */
export const closeCode = { protocol: 1002, binary: 1003, encoding: 1007, tooLong: 1009, internal: 1011 } as const;

export interface CloseReason {
  readonly close: number;
  readonly reason: string;
}

export interface ClientMessagesListener {
  /** @param raw The frames of the message as the client sent them */
  message(text: string, raw: Buffer): void;
  /** A ping, a pong or a Close frame. */
  control(raw: Buffer): void;
}

/** Maximum number of frames of a message, because each takes memory beside its payload, also if that is empty. */
const MAX_FRAMES = 1000;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NOTHING = Buffer.alloc(0);

const violation = (reason: string): CloseReason => ({ close: closeCode.protocol, reason });

export class ClientMessages {
  readonly #listener: ClientMessagesListener;
  readonly #limit: number;
  /** Begins with the bytes of an incomplete frame, and may have room for more. */
  #input: Buffer = NOTHING;
  /** Bytes of the incomplete frame that have arrived. */
  #kept = 0;
  /** The frames of an incomplete message, and their payloads. */
  #raw: Buffer[] = [];
  #payloads: Buffer[] = [];
  #length = 0;

  /** @param limit Maximum bytes of a message */
  constructor(listener: ClientMessagesListener, limit: number) {
    this.#listener = listener;
    this.#limit = limit;
  }

  /**
   * Returns why the connection has to be closed; null: it goes on.
   *
   * @param bytes Not used after the call, nor is what the listener gets
   */
  read(bytes: Buffer): CloseReason | null {
    const joined = this.#joined(bytes);
    let input = joined;
    for (;;) {
      const head = readFrameHead(input, 0);
      const fault = head === null ? null : this.#faultOf(head);
      if (fault !== null) return fault;
      if (head === null || input.length < head.size + head.length) {
        if (this.#kept === 0 || input !== joined) this.#keep(input);
        return null;
      }
      const end = head.size + head.length;
      const frame = input.subarray(0, end);
      input = input.subarray(end);
      if (head.opcode >= FIRST_CONTROL) this.#listener.control(frame);
      else {
        const ended = this.#add(frame, head);
        if (ended !== null) return ended;
      }
    }
  }

  /** The bytes that were kept, and these. A frame that arrives byte by byte is not copied for each of them. */
  #joined(bytes: Buffer): Buffer {
    if (this.#kept === 0) return bytes;
    const length = this.#kept + bytes.length;
    if (length > this.#input.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      this.#input.copy(larger, 0, 0, this.#kept);
      this.#input = larger;
    }
    bytes.copy(this.#input, this.#kept);
    this.#kept = length;
    return this.#input.subarray(0, length);
  }

  /** A copy: the memory of the bytes is used again when they have been read. */
  #keep(rest: Buffer): void {
    this.#input = Buffer.from(rest);
    this.#kept = rest.length;
  }

  #faultOf({ opcode: code, isFinal, isExtended, isMasked, length }: FrameHead): CloseReason | null {
    if (!isMasked) return violation("A frame has no mask");
    if (isExtended) return violation("A frame uses an extension that was not agreed");
    if (code >= FIRST_CONTROL) return isFinal && length <= 125 ? null : violation("A control frame is too long");
    if (code === opcode.binary) return { close: closeCode.binary, reason: "Messages must be text" };
    if (code > opcode.binary) return violation("A frame has an unknown opcode");
    if ((code === opcode.continuation) !== this.#raw.length > 0) return violation("The frames of messages are mixed");
    if (this.#raw.length >= MAX_FRAMES)
      return { close: closeCode.tooLong, reason: `A message has more than ${MAX_FRAMES} frames` };
    if (this.#length + length <= this.#limit) return null;
    return { close: closeCode.tooLong, reason: `A message has more than ${this.#limit} bytes` };
  }

  #add(frame: Buffer, head: FrameHead): CloseReason | null {
    // A part is copied, as in `#keep`.
    this.#raw.push(head.isFinal ? frame : Buffer.from(frame));
    this.#payloads.push(unmasked(frame, head));
    this.#length += head.length;
    if (!head.isFinal) return null;
    const [raw, payload] = [Buffer.concat(this.#raw), Buffer.concat(this.#payloads)];
    this.#raw = [];
    this.#payloads = [];
    this.#length = 0;
    let text: string;
    try {
      text = utf8.decode(payload);
    } catch {
      return { close: closeCode.encoding, reason: "A message is not UTF-8" };
    }
    this.#listener.message(text, raw);
    return null;
  }
}
