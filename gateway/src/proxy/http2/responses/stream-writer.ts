/** Writes the response to a client's stream, no faster than the client reads it. */
import type { MemoryAccount } from "../../listener/client-memory.ts";
import type { GatewayResponse } from "../../response/gateway-response.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "../../timers/stream-min-rate-timer.ts";
import {
  END_HEADERS,
  END_STREAM,
  errorCode,
  type FrameErrorCode,
  frameType,
  MAX_FRAME,
  MAX_WINDOW,
} from "../frames/frame-types.ts";
import type { HpackEncoder } from "../hpack/encoder.ts";
import { encodePassed, type ResponseEncoder } from "./response-encoder.ts";
import { type QueuedResponse, type SendPriority, type SendScheduler, usualPriority } from "./send-scheduler.ts";

export interface ResponseShape {
  /** Whether the response has no body. */
  readonly ended: boolean;
  /** Whether trailers may follow the body. */
  readonly trailers: boolean;
}

/** Memory accounting of the stream. */
export interface StreamMemory {
  readonly account: MemoryAccount;
  /** Bytes admitted for the stream. */
  readonly bytes: number;
}

export interface StreamWriterOptions {
  readonly id: number;
  readonly scheduler: SendScheduler;
  readonly responses: ResponseEncoder;
  /** Shared by the responses of the connection. */
  readonly turns: ConnectionActivity;
  readonly memory: StreamMemory;
  /** Called when the client accepts data again. */
  readonly onDrained: () => void;
  /** Called when the response has been written completely. */
  readonly onEnded: () => void;
  /** Resets the stream. */
  readonly reset: (code: FrameErrorCode) => void;
}

/** Queued bytes at which the upstream is not read any more. */
const HIGH_WATER_MARK = 65_536;
const OK = 200;

export class StreamWriter implements QueuedResponse {
  /** Bytes written so far, whether they have left or not; heads are counted as HTTP/1.1 lines. */
  written = 0;
  /** Bytes that had to wait for the client and have left. */
  taken = 0;
  window: number;
  priority: SendPriority = usualPriority;
  readonly #options: StreamWriterOptions;
  /** Data that the client does not accept yet. */
  #queue: Buffer[] = [];
  #queued = 0;
  /** The same, as counted in the account. */
  #counted = 0;
  /** Null until the client leaves data unread. */
  #taking: StreamMinRateTimer | null = null;
  #hasHead = false;
  #mayTrail = false;
  /** Whether the response is complete, apart from queued data. */
  #isComplete = false;
  #trailers: readonly string[] | null = null;
  #isOver = false;
  /** The place of the last frame with content: see `FrameOutput.endStream`. */
  #generation = -1;
  #flagsAt = 0;

  constructor(options: StreamWriterOptions) {
    this.#options = options;
    this.window = options.scheduler.initialWindow;
  }

  /** Whether the client accepts data now; otherwise `onDrained` is called later. */
  get isTaking(): boolean {
    return this.#queued < HIGH_WATER_MARK;
  }

  /** Adds to the stream's window. Returns false when it exceeds the maximum. */
  widen(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_WINDOW;
  }

  interim(status: number, headers: readonly string[]): void {
    const { output, encoder } = this.#options.scheduler;
    // Interim responses are not flow-controlled, and the client can do without them.
    if (this.#isOver || this.#hasHead || output.isFull) return;
    encoder.begin();
    encoder.status(status);
    encodePassed(encoder, headers);
    this.#writeBlock(encoder, 0);
  }

  /** The encoder for a head, which `finishHead` writes; null: no head can be sent any more. */
  beginHead(): HpackEncoder | null {
    if (this.#isOver || this.#hasHead) return null;
    this.#hasHead = true;
    const { encoder } = this.#options.scheduler;
    encoder.begin();
    return encoder;
  }

  finishHead({ ended, trailers }: ResponseShape): void {
    const { encoder } = this.#options.scheduler;
    this.written += encoder.textSize;
    this.#mayTrail = trailers && !ended;
    this.#writeBlock(encoder, ended ? END_STREAM : 0);
    if (ended) this.#finish();
  }

  /** A head whose headers are final. */
  head(status: number, headers: readonly string[], shape: ResponseShape): void {
    const encoder = this.beginHead();
    if (encoder === null) return;
    this.#options.responses.listed(encoder, status, headers);
    this.finishHead(shape);
  }

  data(view: ByteView): void {
    if (this.#isOver || this.#isComplete) return;
    this.written += view.length;
    const room = this.#queued > 0 ? 0 : this.#options.scheduler.roomFor(this.window);
    const size = Math.min(room, view.length);
    for (let at = view.start; at < view.start + size; ) {
      const end = Math.min(at + MAX_FRAME, view.start + size);
      this.#writeData(view.bytes, at, end);
      at = end;
    }
    if (size === view.length) return;
    if (this.#queued === 0) this.#options.scheduler.add(this);
    const rest = view.part(view.start + size, view.end);
    rest.keepIn(this.#queue);
    this.#queued += rest.length;
    this.#wait();
    // The other queued responses may wait for windows of their own.
    this.#options.scheduler.pump();
  }

  /** @param trailers Flat list; sent only if `head` announced trailers. */
  end(trailers: readonly string[] | null): void {
    if (this.#isOver || this.#isComplete) return;
    this.#isComplete = true;
    if (this.#mayTrail && trailers !== null && trailers.length > 0) this.#trailers = trailers;
    if (this.#queued === 0) this.#writeEnd();
  }

  /**
   * Writes a response that the gateway itself generated. For gRPC it is "Trailers-Only": one head that also ends the
   * stream, with the HTTP status 200.
   */
  own({ status, headers, body }: GatewayResponse, method: string): void {
    if (headers.includes("grpc-status") && body.length === 0) {
      this.head(OK, withoutLength(headers), { ended: true, trailers: false });
      return;
    }
    const bodiless = method === "HEAD" || body.length === 0;
    this.head(status, headers, { ended: bodiless, trailers: false });
    if (!bodiless) this.data(ByteView.of(typeof body === "string" ? Buffer.from(body) : body));
    this.end(null);
  }

  writeQueued(): boolean {
    const { scheduler } = this.#options;
    const [first] = this.#queue;
    if (first === undefined) return false;
    const size = Math.min(first.length, MAX_FRAME, this.window, scheduler.window);
    this.#writeData(first, 0, size);
    if (size === first.length) this.#queue.shift();
    else this.#queue[0] = first.subarray(size);
    const before = this.#queued;
    this.#queued -= size;
    this.taken += size;
    if (this.#queued === 0) {
      this.#onTaken();
      if (this.#isComplete) this.#writeEnd();
    } else this.#count();
    if (!this.#isOver && before >= HIGH_WATER_MARK && this.isTaking) this.#options.onDrained();
    return this.#queued > 0;
  }

  /** Resets the stream, so that the client knows the response is incomplete. */
  breakOff(): void {
    if (!this.#isOver) this.#options.reset(errorCode.internalError);
  }

  /** Called when the stream has closed: nothing more is written. */
  close(): void {
    this.#isOver = true;
    if (this.#queued > 0) this.#options.scheduler.remove(this);
    this.#queue = [];
    this.#queued = 0;
    this.#onTaken();
    this.#taking?.close();
  }

  #writeBlock({ bytes, length }: HpackEncoder, flags: number): void {
    const { id, scheduler } = this.#options;
    const { output } = scheduler;
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

  #writeData(bytes: Buffer, start: number, end: number): void {
    const { id, scheduler } = this.#options;
    scheduler.output.frame(frameType.data, 0, id, { bytes, start, end });
    this.#generation = scheduler.output.generation;
    this.#flagsAt = scheduler.output.lastFlags;
    scheduler.window -= end - start;
    this.window -= end - start;
  }

  #writeEnd(): void {
    const { id, scheduler } = this.#options;
    const { output, encoder } = scheduler;
    if (this.#trailers !== null) {
      encoder.begin();
      encodePassed(encoder, this.#trailers);
      this.written += encoder.textSize;
      this.#writeBlock(encoder, END_STREAM);
    } else if (!output.endStream(this.#generation, this.#flagsAt)) output.frame(frameType.data, END_STREAM, id);
    this.#finish();
  }

  #finish(): void {
    this.#isComplete = true;
    this.#isOver = true;
    this.#onTaken();
    this.#taking?.close();
    this.#options.onEnded();
  }

  /** Starts the timer: response data is waiting for the client. */
  #wait(): void {
    this.#taking ??= new StreamMinRateTimer(this.#options.turns, {
      bytes: () => this.written - this.#queued,
      onLate: () => this.breakOff(),
    });
    this.#taking.run();
    this.#count();
  }

  #count(): void {
    const { account, bytes } = this.#options.memory;
    const before = this.#counted;
    this.#counted = this.#queued;
    if (this.#counted > 0) account.wait(this.#counted - before, before === 0 ? bytes : 0);
  }

  /** Called when the client has accepted all data, or the stream has closed. */
  #onTaken(): void {
    this.#taking?.pause();
    if (this.#counted === 0) return;
    const { account, bytes } = this.#options.memory;
    account.taken(this.#counted, bytes);
    this.#counted = 0;
  }
}

const withoutLength = (headers: readonly string[]): readonly string[] => {
  const at = headers.indexOf("Content-Length");
  return at < 0 ? headers : headers.toSpliced(at, 2);
};
