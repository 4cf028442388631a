/** Collects the frames of one event loop turn for one peer: they leave in one write. */
import type { Socket } from "node:net";
import { END_STREAM, FRAME_HEADER, type FrameErrorCode, frameType, SETTING_LENGTH } from "./frame-types.ts";

/** Bytes of a chunk: several frames of the largest size. */
const CHUNK = 65_536;
/** Chunks that are kept for the next use. */
const MOST_FREE = 32;
/** Longer writes leave in the chunk itself; shorter ones are copied, so that the chunk can be used again at once. */
const MOST_COPIED = 16_384;
/** No more DATA is written while this many bytes wait in the socket. */
const HIGH_WATER_MARK = 131_072;
const FLAGS = 4;

const NOTHING = Buffer.alloc(0);
const free: Buffer[] = [];

/** Outputs with frames of this turn. */
let queued: FrameOutput[] = [];

function flushAll(): void {
  const outputs = queued;
  queued = [];
  for (const output of outputs) output.flush();
}

/** Payload of every PING: the answers need not be told apart. */
const PAYLOAD = Buffer.from("sluice\0\0");

export type FrameSetting = readonly [id: number, value: number];

export interface FrameContent {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const EMPTY: FrameContent = { bytes: NOTHING, start: 0, end: 0 };

export class FrameOutput {
  /** Changes when the collected frames leave. */
  generation = 0;
  /** Number of HEADERS and DATA frames so far. */
  contentFrames = 0;
  /** Offset of the flags of the frame that was written last. */
  lastFlags = 0;
  readonly #socket: Socket;
  /** Called after a write that the socket could not pass on completely. */
  readonly #onBacklog: () => void;
  #chunk: Buffer = NOTHING;
  #at = 0;
  #isQueued = false;

  constructor(socket: Socket, onBacklog: () => void) {
    this.#socket = socket;
    this.#onBacklog = onBacklog;
  }

  /** Bytes that the peer has not accepted yet. */
  get backlog(): number {
    return this.#socket.writableLength + this.#at;
  }

  /** Whether no more DATA should be written now. The "drain" event of the socket follows. */
  get isFull(): boolean {
    return this.backlog >= HIGH_WATER_MARK;
  }

  /** Writes a frame whose payload is at most MAX_FRAME bytes. */
  frame(type: number, flags: number, stream: number, { bytes, start, end }: FrameContent = EMPTY): void {
    const length = end - start;
    this.#makeRoom(FRAME_HEADER + length);
    const chunk = this.#chunk;
    const at = this.#at;
    chunk[at] = length >> 16;
    chunk[at + 1] = length >> 8;
    chunk[at + 2] = length;
    chunk[at + 3] = type;
    chunk[at + FLAGS] = flags;
    putWord(chunk, at + 5, stream);
    if (length > 0) bytes.copy(chunk, at + FRAME_HEADER, start, end);
    this.lastFlags = at + FLAGS;
    if (type <= frameType.headers) this.contentFrames++;
    this.#at = at + FRAME_HEADER + length;
  }

  /**
   * Sets END_STREAM on the frame that was written when `generation` and `lastFlags` had these values. Returns false when
   * the frame has left.
   */
  endStream(generation: number, flagsAt: number): boolean {
    if (generation !== this.generation) return false;
    this.#chunk[flagsAt] = (this.#chunk[flagsAt] ?? 0) | END_STREAM;
    return true;
  }

  /** Writes a frame whose payload is one 32-bit word. */
  word(type: number, stream: number, value: number): void {
    putWord(words, 0, value);
    this.frame(type, 0, stream, { bytes: words, start: 0, end: 4 });
  }

  goAway(lastStream: number, code: FrameErrorCode): void {
    putWord(words, 0, lastStream);
    putWord(words, 4, code);
    this.frame(frameType.goAway, 0, 0, { bytes: words, start: 0, end: 8 });
  }

  settings(settings: readonly FrameSetting[]): void {
    const bytes = Buffer.alloc(settings.length * SETTING_LENGTH);
    for (const [index, [id, value]] of settings.entries()) {
      bytes.writeUInt16BE(id, index * SETTING_LENGTH);
      putWord(bytes, index * SETTING_LENGTH + 2, value);
    }
    this.frame(frameType.settings, 0, 0, { bytes, start: 0, end: bytes.length });
  }

  ping(): void {
    this.frame(frameType.ping, 0, 0, { bytes: PAYLOAD, start: 0, end: PAYLOAD.length });
  }

  /** Writes the collected frames now. */
  flush(): void {
    this.#isQueued = false;
    if (this.#at === 0) return;
    this.#leave();
  }

  #makeRoom(length: number): void {
    if (this.#at + length > this.#chunk.length) {
      if (this.#at > 0) this.#leave();
      this.#chunk = free.pop() ?? Buffer.allocUnsafeSlow(CHUNK);
    }
    if (this.#isQueued) return;
    this.#isQueued = true;
    if (queued.length === 0) setImmediate(flushAll);
    queued.push(this);
  }

  #leave(): void {
    const chunk = this.#chunk;
    const written = chunk.subarray(0, this.#at);
    const isCopied = this.#at <= MOST_COPIED;
    this.#chunk = NOTHING;
    this.#at = 0;
    this.generation++;
    if (!this.#socket.writable) return;
    if (isCopied) {
      this.#socket.write(Buffer.from(written));
      release(chunk);
    } else this.#socket.write(written, (error) => release(chunk, error));
    if (this.#socket.writableNeedDrain) this.#onBacklog();
  }
}

/** Keeps a chunk for the next use, unless its write failed: then it may not be finished. */
function release(chunk: Buffer, error?: Error | null): void {
  if (!error && free.length < MOST_FREE) free.push(chunk);
}

const words = Buffer.alloc(8);

function putWord(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >> 16;
  bytes[at + 2] = value >> 8;
  bytes[at + 3] = value;
}
