/**
 * The frames that one peer sends: checks them against the states of the streams (RFC 9113 sections 5 and 6), joins and
 * decodes header blocks, keeps the windows, and limits what the peer may cause. Subclasses know which side opens streams.
 */
import type { ByteView } from "../../sockets/byte-view.ts";
import type { FrameOutput } from "../frames/frame-output.ts";
import { type FrameHeader, FrameReader, type FrameReceiver, wordAt } from "../frames/frame-reader.ts";
import {
  END_HEADERS,
  END_STREAM,
  errorCode,
  type FrameErrorCode,
  frameType,
  PADDED,
  PRIORITY,
  PRIORITY_LENGTH,
  STREAM_ID,
} from "../frames/frame-types.ts";
import { type FieldReceiver, HpackDecoder } from "../hpack/decoder.ts";
import { CONNECTION_WINDOW } from "../limits.ts";
import {
  type ByteRange,
  ControlFrames,
  type ControlListener,
  type ControlledWriter,
  type StreamFrames,
} from "./control-frames.ts";
import { RecentIds } from "./recent-ids.ts";
import type { SendScheduler } from "./send-scheduler.ts";

/** A stream as its frames see it. */
export interface FramedStream {
  readonly id: number;
  readonly writer: ControlledWriter;
  /** Whether the peer may still send frames of its message. */
  readonly isReceiving: boolean;
  /** Counts a DATA frame of this length, with its padding. Returns false when it exceeds the window. */
  takesFrame(length: number): boolean;
  /** Receives a piece of the body. */
  data(view: ByteView): void;
  /** Counts bytes of frames that need not be kept: the peer may send as many again. */
  consume(bytes: number): void;
  /** Called after all pieces of one read. */
  flush(): void;
  /** Called when the peer has ended its side without trailers. */
  end(): void;
  /** Called when the stream has closed, for whatever reason. */
  close(): void;
}

/** The connection of the frames. */
export interface ConnectionFramesOwner<Stream> extends ControlListener {
  /** Called when a stream has closed. */
  closed(stream: Stream): void;
  /** Ends the connection with an error. */
  fail(code: FrameErrorCode): void;
}

/** Receives the fields of header blocks. */
export interface BlockCollector extends FieldReceiver {
  /** Prepares for a block. */
  begin(isTrailers: boolean): void;
}

export interface ConnectionFramesOptions<Stream, Collector extends BlockCollector> {
  readonly owner: ConnectionFramesOwner<Stream>;
  readonly scheduler: SendScheduler;
  readonly collector: Collector;
  /** Most bytes of a compressed header block. */
  readonly maxBlock: number;
}

/** The end of a header block. */
export interface BlockFacts {
  readonly id: number;
  /** Whether the block ends the peer's side of the stream. */
  readonly ended: boolean;
  /** Whether its priority makes the stream depend on itself, which is malformed (RFC 7540 section 5.3.1). */
  readonly dependsOnItself: boolean;
}

/** Bytes of RST_STREAM. */
const RESET_LENGTH = 4;
const NOTHING = Buffer.alloc(0);

export abstract class ConnectionFrames<Stream extends FramedStream, Collector extends BlockCollector>
  implements FrameReceiver, StreamFrames
{
  readonly streams = new Map<number, Stream>();
  protected readonly collector: Collector;
  protected readonly control: ControlFrames;
  readonly #owner: ConnectionFramesOwner<Stream>;
  readonly #output: FrameOutput;
  readonly #maxBlock: number;
  readonly #reader: FrameReader;
  readonly #decoder = new HpackDecoder();
  /** The stream whose header block continues; 0: none. */
  #blockStream = 0;
  /** Number of the frame that began it. */
  #blockFrame = 0;
  #blockFlags = 0;
  #blockDependsOnItself = false;
  #block: Buffer = NOTHING;
  /** Streams that the gateway reset, and other closed streams. */
  readonly #resetIds = new RecentIds();
  readonly #closedIds = new RecentIds();
  /** Bytes that the peer may send, and received bytes since it was last allowed more. */
  #window = CONNECTION_WINDOW;
  #consumed = 0;
  /** The stream of the current DATA frame; null: its content is ignored. */
  #dataStream: Stream | null = null;
  #dataFlags = 0;
  #dataLength = 0;
  #dataContent = 0;
  #lastData: Stream | null = null;
  /** The stream whose body has received pieces that are not flushed. */
  #unflushed: Stream | null = null;

  /** @param isServer Whether the peer is a server: it sends no preface */
  constructor(
    { owner, scheduler, collector, maxBlock }: ConnectionFramesOptions<Stream, Collector>,
    isServer: boolean,
  ) {
    this.#owner = owner;
    this.#output = scheduler.output;
    this.#reader = new FrameReader(this, { hasPreface: !isServer });
    this.control = new ControlFrames({ isServer, frames: this, scheduler, listener: owner });
    this.collector = collector;
    this.#maxBlock = maxBlock;
  }

  abstract isIdle(id: number): boolean;
  /** Whether the peer may still send frames of this closed stream, although the gateway has not reset it. */
  protected abstract mayIgnore(id: number): boolean;
  /** Whether the connection's window may be widened now. */
  protected abstract get mayWiden(): boolean;
  /** Called when the block of an open stream is in the collector. */
  protected abstract decoded(stream: Stream, block: BlockFacts): void;
  /** Called when the block of a stream that is not open is in the collector. Returns false if it is not permitted. */
  protected abstract decodedNew(block: BlockFacts): boolean;
  /** Called for each reset that the peer has sent or caused. */
  protected abstract countReset(): void;
  /** Called when the peer has reset an open stream. */
  protected abstract resetByPeer(stream: Stream, code: number): void;

  /** Number of the frame that began an incomplete header block, or of another incomplete frame than DATA; 0: none. */
  get incomplete(): number {
    if (this.#blockStream !== 0) return this.#blockFrame;
    return this.#reader.isInPayload ? this.#reader.frames : 0;
  }

  /** Whether more of a body is expected on the stream that sent DATA last. */
  get expectsBody(): boolean {
    return this.#lastData?.isReceiving === true;
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
    // Resets of the gateway's own accord are not the peer's fault.
    if (!ownCodes.has(code)) this.countReset();
  }

  /** Closes a stream that both sides have ended. */
  ended(id: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    this.#closedIds.add(id);
    this.#remove(stream);
  }

  frame(header: FrameHeader, bytes: Buffer, range: ByteRange): void {
    const { type, stream } = header;
    const isContinuation = type === frameType.continuation;
    if (this.#blockStream !== (isContinuation ? stream : 0)) this.fail(errorCode.protocolError);
    else if (!this.control.hasSettings && type !== frameType.settings) this.fail(errorCode.protocolError);
    else if (type === frameType.headers) this.#headers(header, bytes, range);
    else if (type === frameType.rstStream) this.#rstStream(header, bytes, range);
    else if (this.control.mayContinue()) {
      if (isContinuation) this.#continuation(header, bytes, range);
      else this.control.frame(header, bytes, range);
    }
  }

  dataBegan({ stream: id, flags, length }: FrameHeader): void {
    this.#dataStream = null;
    this.#dataFlags = flags;
    this.#dataLength = length;
    this.#dataContent = 0;
    if (this.#blockStream !== 0 || !this.control.hasSettings || this.isIdle(id)) {
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
    if (!isNeeded && !this.control.mayContinue()) return;
    if (stream === null || this.streams.get(stream.id) !== stream) return;
    // Padding counts for the windows too (section 6.9.1).
    if (this.#dataContent < this.#dataLength) stream.consume(this.#dataLength - this.#dataContent);
    if ((this.#dataFlags & END_STREAM) === 0) return;
    this.flushedByEnd(stream);
    stream.end();
  }

  /** Allows the peer to send more, when half of its window is used and it is permitted. */
  widenConnection(): void {
    if (this.#consumed < CONNECTION_WINDOW / 2 || !this.mayWiden) return;
    this.#window += this.#consumed;
    this.#output.word(frameType.windowUpdate, 0, this.#consumed);
    this.#consumed = 0;
  }

  streamError(id: number, code: FrameErrorCode): void {
    if (this.streams.has(id)) this.reset(id, code);
    else {
      this.#writeReset(id, code);
      this.countReset();
    }
  }

  fail(code: FrameErrorCode): void {
    this.#reader.stop();
    this.#owner.fail(code);
  }

  /** The end of a message flushes its own body. */
  protected flushedByEnd(stream: Stream): void {
    if (this.#unflushed === stream) this.#unflushed = null;
  }

  /** Whether the peer may still send frames of this closed stream, which it does not yet know to be closed. */
  #isIgnored(id: number): boolean {
    return this.mayIgnore(id) || this.#resetIds.has(id);
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
    const stream = this.streams.get(id);
    const facts = {
      id,
      ended: (this.#blockFlags & END_STREAM) !== 0,
      dependsOnItself: this.#blockDependsOnItself,
    };
    this.collector.begin(this.isTrailers(stream));
    if (!this.#decoder.decode(block, range, this.collector)) this.fail(errorCode.compressionError);
    else if (stream !== undefined) this.decoded(stream, facts);
    else if (this.decodedNew(facts)) return;
    else if (this.#isIgnored(id)) this.control.mayContinue();
    else this.fail(this.#closedIds.has(id) ? errorCode.streamClosed : errorCode.protocolError);
  }

  /** Whether a block of this stream consists of trailers; undefined: the stream is not open. */
  protected abstract isTrailers(stream: Stream | undefined): boolean;

  #rstStream({ stream: id, length }: FrameHeader, bytes: Buffer, { start }: ByteRange): void {
    if (length !== RESET_LENGTH) this.fail(errorCode.frameSizeError);
    else if (this.isIdle(id)) this.fail(errorCode.protocolError);
    else {
      const stream = this.streams.get(id);
      if (stream !== undefined) {
        this.resetByPeer(stream, wordAt(bytes, start) >>> 0);
        this.ended(id);
      }
      this.countReset();
    }
  }

  #writeReset(id: number, code: FrameErrorCode): void {
    this.#output.word(frameType.rstStream, id, code);
    this.#resetIds.add(id);
  }

  #remove(stream: Stream): void {
    this.streams.delete(stream.id);
    if (this.#dataStream === stream) this.#dataStream = null;
    if (this.#unflushed === stream) this.#unflushed = null;
    if (this.#lastData === stream) this.#lastData = null;
    stream.close();
    this.#owner.closed(stream);
  }

  #flush(): void {
    const stream = this.#unflushed;
    this.#unflushed = null;
    stream?.flush();
  }
}

/** Codes with which the gateway resets streams for other reasons than an error of the peer. */
const ownCodes: ReadonlySet<FrameErrorCode> = new Set([errorCode.internalError, errorCode.noError, errorCode.cancel]);
