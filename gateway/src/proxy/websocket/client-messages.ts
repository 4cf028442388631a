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

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NOTHING = Buffer.alloc(0);

const violation = (reason: string): CloseReason => ({ close: closeCode.protocol, reason });

export class ClientMessages {
  readonly #listener: ClientMessagesListener;
  readonly #limit: number;
  /** Bytes of an incomplete frame. */
  #input: Buffer = NOTHING;
  /** The frames of an incomplete message, and their payloads. */
  #raw: Buffer[] = [];
  #payloads: Buffer[] = [];
  #length = 0;

  /** @param limit Maximum bytes of a message */
  constructor(listener: ClientMessagesListener, limit: number) {
    this.#listener = listener;
    this.#limit = limit;
  }

  /** Returns why the connection has to be closed; null: it goes on. */
  read(bytes: Buffer): CloseReason | null {
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
    for (;;) {
      const head = readFrameHead(this.#input, 0);
      if (head === null) return null;
      const fault = this.#faultOf(head);
      if (fault !== null) return fault;
      const end = head.size + head.length;
      if (this.#input.length < end) return null;
      const frame = this.#input.subarray(0, end);
      this.#input = this.#input.subarray(end);
      if (head.opcode >= FIRST_CONTROL) this.#listener.control(frame);
      else {
        const ended = this.#add(frame, head);
        if (ended !== null) return ended;
      }
    }
  }

  #faultOf({ opcode: code, isFinal, isExtended, isMasked, length }: FrameHead): CloseReason | null {
    if (!isMasked) return violation("A frame has no mask");
    if (isExtended) return violation("A frame uses an extension that was not agreed");
    if (code >= FIRST_CONTROL) return isFinal && length <= 125 ? null : violation("A control frame is too long");
    if (code === opcode.binary) return { close: closeCode.binary, reason: "Messages must be text" };
    if (code > opcode.binary) return violation("A frame has an unknown opcode");
    if ((code === opcode.continuation) !== this.#raw.length > 0) return violation("The frames of messages are mixed");
    if (this.#length + length <= this.#limit) return null;
    return { close: closeCode.tooLong, reason: `A message has more than ${this.#limit} bytes` };
  }

  #add(frame: Buffer, head: FrameHead): CloseReason | null {
    this.#raw.push(frame);
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
