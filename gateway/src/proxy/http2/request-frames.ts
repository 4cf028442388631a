/**
 * The frames of a client: checks them against the states of the streams (RFC 9113 sections 5 and 6), decodes header
 * blocks, and limits what a client may cause.
 */
import type { ByteView } from "../sockets/byte-view.ts";
import { Budget } from "./budget.ts";
import type { ClientStream } from "./client-stream.ts";
import { type ByteRange, ControlFrames, type ControlListener, type StreamFrames } from "./control-frames.ts";
import type { FrameOutput } from "./frames/frame-output.ts";
import { type FrameHeader, FrameReader, type FrameReceiver, wordAt } from "./frames/frame-reader.ts";
import {
  END_HEADERS,
  END_STREAM,
  errorCode,
  type FrameErrorCode,
  frameType,
  MAX_WINDOW,
  PADDED,
  PRIORITY,
  PRIORITY_LENGTH,
  STREAM_ID,
} from "./frames/frame-types.ts";
import { HpackDecoder } from "./hpack/decoder.ts";
import { CONNECTION_WINDOW, MAX_STREAMS, MOST_HELD, resetBudget } from "./limits.ts";
import type { FieldCollector } from "./requests/field-collector.ts";
import type { SendScheduler } from "./responses/send-scheduler.ts";

/** The connection of the frames. */
export interface RequestFramesOwner extends ControlListener {
  /** Opens a stream whose head is in the collector, or returns null if it must be refused. */
  open(id: number, ended: boolean): ClientStream | null;
  /** Called when a request is malformed; its stream is reset. */
  malformed(): void;
  /** Called when a stream has closed. */
  closed(stream: ClientStream): void;
  /** Ends the connection with an error. */
  fail(code: FrameErrorCode): void;
}

export interface RequestFramesOptions {
  readonly owner: RequestFramesOwner;
  readonly scheduler: SendScheduler;
  readonly collector: FieldCollector;
  /** Most bytes of a compressed header block. */
  readonly maxBlock: number;
}

/** Remembered ids of closed streams; a power of two. */
const REMEMBERED = 256;
const NOTHING = Buffer.alloc(0);

export class RequestFrames implements FrameReceiver, StreamFrames {
  readonly streams = new Map<number, ClientStream>();
  /** The highest stream that the client has opened. */
  lastStream = 0;
  /** Streams above this one are ignored: the client was told that they are not processed (section 6.8). */
  lastAccepted = MAX_WINDOW;
  /** Bytes of request bodies that the connection holds. */
  held = 0;
  readonly #owner: RequestFramesOwner;
  readonly #output: FrameOutput;
  readonly #collector: FieldCollector;
  readonly #maxBlock: number;
  readonly #reader = new FrameReader(this);
  readonly #decoder = new HpackDecoder();
  readonly #control: ControlFrames;
  readonly #resets = new Budget(resetBudget);
  /** The stream whose header block continues; 0: none. */
  #blockStream = 0;
  /** Number of the frame that began it. */
  #blockFrame = 0;
  #blockFlags = 0;
  #blockDependsOnItself = false;
  #block: Buffer = NOTHING;
  /** Ids of streams that the gateway reset, and of other closed streams, each at the count of such streams. */
  readonly #resetIds = new Int32Array(REMEMBERED);
  readonly #closedIds = new Int32Array(REMEMBERED);
  #resetCount = 0;
  #closedCount = 0;
  /** Bytes that the client may send, and received bytes since it was last allowed more. */
  #window = CONNECTION_WINDOW;
  #consumed = 0;
  /** The stream of the current DATA frame; null: its content is ignored. */
  #dataStream: ClientStream | null = null;
  #dataFlags = 0;
  #dataLength = 0;
  #dataContent = 0;
  #lastData: ClientStream | null = null;
  /** The stream whose body has received pieces that are not flushed. */
  #unflushed: ClientStream | null = null;

  constructor({ owner, scheduler, collector, maxBlock }: RequestFramesOptions) {
    this.#owner = owner;
    this.#output = scheduler.output;
    this.#control = new ControlFrames({ frames: this, scheduler, listener: owner });
    this.#collector = collector;
    this.#maxBlock = maxBlock;
  }

  /** Number of the frame that began an incomplete header block, or of another incomplete frame than DATA; 0: none. */
  get incomplete(): number {
    if (this.#blockStream !== 0) return this.#blockFrame;
    return this.#reader.isInPayload ? this.#reader.frames : 0;
  }

  /** The highest stream that was or is processed. */
  get lastProcessed(): number {
    return Math.min(this.lastStream, this.lastAccepted);
  }

  read(view: ByteView): void {
    this.#reader.read(view);
    this.#flush();
  }

  stop(): void {
    this.#reader.stop();
  }

  broken(code: FrameErrorCode): void {
    this.fail(code);
  }

  /** Whether more of a request body is expected on the stream that sent DATA last. */
  get expectsBody(): boolean {
    return this.#lastData?.isReceiving === true;
  }

  /** Called when the connection has ended. */
  closeAll(): void {
    for (const stream of [...this.streams.values()]) this.#remove(stream);
  }

  /** Resets an open stream. */
  reset(id: number, code: FrameErrorCode): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    this.#writeReset(id, code);
    this.#remove(stream);
    // Resets of the gateway's own accord are not the client's fault.
    if (!ownCodes.has(code)) this.#countReset();
  }

  /** Closes a stream that both sides have ended. */
  ended(id: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    this.#closedIds[this.#closedCount++ & (REMEMBERED - 1)] = id;
    this.#remove(stream);
  }

  frame(header: FrameHeader, bytes: Buffer, range: ByteRange): void {
    const { type, stream } = header;
    const isContinuation = type === frameType.continuation;
    if (this.#blockStream !== (isContinuation ? stream : 0)) this.fail(errorCode.protocolError);
    else if (!this.#control.hasSettings && type !== frameType.settings) this.fail(errorCode.protocolError);
    else if (type === frameType.headers) this.#headers(header, bytes, range);
    else if (type === frameType.rstStream) this.#rstStream(header);
    else if (this.#control.mayContinue()) {
      if (isContinuation) this.#continuation(header, bytes, range);
      else this.#control.frame(header, bytes, range);
    }
  }

  dataBegan({ stream: id, flags, length }: FrameHeader): void {
    this.#dataStream = null;
    this.#dataFlags = flags;
    this.#dataLength = length;
    this.#dataContent = 0;
    if (this.#blockStream !== 0 || !this.#control.hasSettings || this.isIdle(id)) {
      this.fail(errorCode.protocolError);
      return;
    }
    this.#window -= length;
    if (this.#window < 0) {
      this.fail(errorCode.flowControlError);
      return;
    }
    const stream = this.streams.get(id);
    if (stream === undefined) {
      if (!this.#isIgnored(id)) this.fail(errorCode.streamClosed);
    } else if (!stream.isReceiving) this.streamError(id, errorCode.streamClosed);
    else if (!stream.takesFrame(length)) this.streamError(id, errorCode.flowControlError);
    else this.#dataStream = stream;
  }

  data(view: ByteView): void {
    this.#dataContent += view.length;
    const stream = this.#dataStream;
    if (stream === null || view.length === 0) return;
    if (this.#unflushed !== stream) this.#flush();
    this.#unflushed = stream;
    this.#lastData = stream;
    stream.data(view);
  }

  dataEnded(): void {
    this.#consumed += this.#dataLength;
    this.widenConnection();
    const stream = this.#dataStream;
    this.#dataStream = null;
    const isNeeded = this.#dataContent > 0 || (stream !== null && (this.#dataFlags & END_STREAM) !== 0);
    if (!isNeeded && !this.#control.mayContinue()) return;
    if (stream === null || this.streams.get(stream.id) !== stream) return;
    // Padding counts for the windows too (section 6.9.1).
    if (this.#dataContent < this.#dataLength) stream.consume(this.#dataLength - this.#dataContent);
    if ((this.#dataFlags & END_STREAM) === 0) return;
    // The end flushes its own body.
    if (this.#unflushed === stream) this.#unflushed = null;
    stream.end("");
  }

  /** Allows the client to send more, when half of its window is used and not too many bytes are held. */
  widenConnection(): void {
    if (this.#consumed < CONNECTION_WINDOW / 2 || this.held >= MOST_HELD) return;
    this.#window += this.#consumed;
    this.#output.word(frameType.windowUpdate, 0, this.#consumed);
    this.#consumed = 0;
  }

  /** Whether the client has not opened this stream; 0 is not a stream. */
  isIdle(id: number): boolean {
    return id === 0 || id > this.lastStream || (id & 1) === 0;
  }

  /** Whether the client may still send frames of this closed stream, which it does not yet know to be closed. */
  #isIgnored(id: number): boolean {
    return id > this.lastAccepted || this.#resetIds.includes(id);
  }

  streamError(id: number, code: FrameErrorCode): void {
    if (this.streams.has(id)) this.reset(id, code);
    else {
      this.#writeReset(id, code);
      this.#countReset();
    }
  }

  fail(code: FrameErrorCode): void {
    this.#reader.stop();
    this.#owner.fail(code);
  }

  #headers({ stream: id, flags }: FrameHeader, bytes: Buffer, range: ByteRange): void {
    let { start, end } = range;
    if ((id & 1) === 0) {
      this.fail(errorCode.protocolError);
      return;
    }
    if ((flags & PADDED) !== 0) end -= bytes[start++] ?? 0;
    this.#blockDependsOnItself = false;
    if ((flags & PRIORITY) !== 0) {
      this.#blockDependsOnItself = (wordAt(bytes, start) & STREAM_ID) === id;
      start += PRIORITY_LENGTH;
    }
    if (start > range.end || start > end) {
      this.fail(start > range.end ? errorCode.frameSizeError : errorCode.protocolError);
      return;
    }
    this.#blockFlags = flags;
    if ((flags & END_HEADERS) !== 0) this.#decode(id, bytes, { start, end });
    else {
      this.#blockStream = id;
      this.#blockFrame = this.#reader.frames;
      this.#block = Buffer.from(bytes.subarray(start, end));
    }
  }

  #continuation({ stream: id, flags }: FrameHeader, bytes: Buffer, { start, end }: ByteRange): void {
    if (id === 0) {
      this.fail(errorCode.protocolError);
      return;
    }
    if (this.#block.length + end - start > this.#maxBlock) {
      this.fail(errorCode.enhanceYourCalm);
      return;
    }
    this.#block = Buffer.concat([this.#block, bytes.subarray(start, end)]);
    if ((flags & END_HEADERS) === 0) return;
    const block = this.#block;
    this.#blockStream = 0;
    this.#block = NOTHING;
    this.#decode(id, block, { start: 0, end: block.length });
  }

  /** Decodes a complete block. Blocks that are ignored are decoded too, because they change the decoder's table. */
  #decode(id: number, block: Buffer, range: ByteRange): void {
    const collector = this.#collector;
    const stream = this.streams.get(id);
    const ended = (this.#blockFlags & END_STREAM) !== 0;
    collector.begin(stream !== undefined);
    if (!this.#decoder.decode(block, range, collector)) this.fail(errorCode.compressionError);
    else if (stream !== undefined) this.#endByTrailers(stream, ended);
    else if (id > this.lastStream) this.#open(id, ended);
    else if (this.#isIgnored(id)) this.#control.mayContinue();
    else this.fail(this.#closedIds.includes(id) ? errorCode.streamClosed : errorCode.protocolError);
  }

  #endByTrailers(stream: ClientStream, ended: boolean): void {
    const { isMalformed, isExcessive } = this.#collector;
    const trailers = this.#collector.trailers();
    if (!stream.isReceiving) this.streamError(stream.id, errorCode.streamClosed);
    else if (isExcessive) this.streamError(stream.id, errorCode.enhanceYourCalm);
    else if (!ended || isMalformed || this.#blockDependsOnItself || stream.isConnect) {
      this.streamError(stream.id, errorCode.protocolError);
    } else {
      if (this.#unflushed === stream) this.#unflushed = null;
      stream.end(trailers);
    }
  }

  #open(id: number, ended: boolean): void {
    const collector = this.#collector;
    this.lastStream = id;
    if (id > this.lastAccepted) {
      this.#control.mayContinue();
      return;
    }
    collector.checkRequest(ended);
    if (this.streams.size >= MAX_STREAMS) this.streamError(id, errorCode.refusedStream);
    else if (collector.isExcessive) this.streamError(id, errorCode.enhanceYourCalm);
    else if (collector.isMalformed || this.#blockDependsOnItself) {
      this.#owner.malformed();
      this.streamError(id, errorCode.protocolError);
    } else {
      const stream = this.#owner.open(id, ended);
      if (stream === null) this.streamError(id, errorCode.refusedStream);
      else {
        this.streams.set(id, stream);
        stream.run();
      }
    }
  }

  #rstStream({ stream: id, length }: FrameHeader): void {
    if (length !== RESET_LENGTH) this.fail(errorCode.frameSizeError);
    else if (this.isIdle(id)) this.fail(errorCode.protocolError);
    else {
      this.ended(id);
      this.#countReset();
    }
  }

  #writeReset(id: number, code: FrameErrorCode): void {
    this.#output.word(frameType.rstStream, id, code);
    this.#resetIds[this.#resetCount++ & (REMEMBERED - 1)] = id;
  }

  #remove(stream: ClientStream): void {
    this.streams.delete(stream.id);
    if (this.#dataStream === stream) this.#dataStream = null;
    if (this.#unflushed === stream) this.#unflushed = null;
    if (this.#lastData === stream) this.#lastData = null;
    stream.close();
    this.#owner.closed(stream);
  }

  #countReset(): void {
    if (!this.#resets.spend()) this.fail(errorCode.enhanceYourCalm);
  }

  #flush(): void {
    const stream = this.#unflushed;
    this.#unflushed = null;
    stream?.flush();
  }
}

/** Codes with which the gateway resets streams for other reasons than an error of the client. */
const ownCodes: ReadonlySet<FrameErrorCode> = new Set([errorCode.internalError, errorCode.noError, errorCode.cancel]);

/** Bytes of RST_STREAM. */
const RESET_LENGTH = 4;
