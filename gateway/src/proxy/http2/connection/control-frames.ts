/** The frames of a peer that carry no content: SETTINGS, PING, WINDOW_UPDATE, GOAWAY and priorities. */
import { type FrameHeader, wordAt } from "../frames/frame-reader.ts";
import {
  ACK,
  errorCode,
  type FrameErrorCode,
  frameType,
  MAX_FRAME,
  MAX_FRAME_LIMIT,
  MAX_WINDOW,
  PRIORITY_LENGTH,
  SETTING_LENGTH,
  STREAM_ID,
  setting,
} from "../frames/frame-types.ts";
import { controlBudget, FRAMES_PER_CONTENT, MOST_SETTINGS } from "../limits.ts";
import { Budget } from "./budget.ts";
import { priorityOf, type SendPriority, type SendScheduler } from "./send-scheduler.ts";

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What control frames change of a stream that the gateway writes. */
export interface ControlledWriter {
  priority: SendPriority;
  /** Adds to the stream's window. Returns false when it exceeds the maximum. */
  widen(bytes: number): boolean;
}

/** The frames of the same connection that have content. */
export interface StreamFrames {
  readonly streams: ReadonlyMap<number, { readonly writer: ControlledWriter }>;
  /** Whether the stream has never been opened; 0 is not a stream. */
  isIdle(id: number): boolean;
  /** Resets a stream because of an error of the peer, whether the stream is open or not. */
  streamError(id: number, code: FrameErrorCode): void;
  /** Ends the connection with an error. */
  fail(code: FrameErrorCode): void;
}

/** Receives what control frames mean for the connection. */
export interface ControlListener {
  /** Called when the peer has answered a PING. */
  pinged(): void;
  /** Called when the peer has acknowledged settings. */
  settingsAcknowledged(): void;
  /** Called when the peer has sent settings, which have been applied. */
  settingsReceived?(): void;
  /**
   * Called for GOAWAY: the peer opens no more streams, and does not process streams above `lastStream` that the gateway
   * has opened.
   */
  leaving(lastStream: number, code: number): void;
}

export interface ControlFramesOptions {
  /** Whether the peer is a server: some frames and settings are permitted to clients only. */
  readonly isServer: boolean;
  readonly frames: StreamFrames;
  readonly scheduler: SendScheduler;
  readonly listener: ControlListener;
}

const PING_LENGTH = 8;
/** Bytes of GOAWAY without debug data. */
const GOAWAY_LENGTH = 8;
const WORD = 4;

export class ControlFrames {
  /** Whether the peer has sent its first settings, which precede all other frames. */
  hasSettings = false;
  /** Concurrent streams that the gateway may open. */
  mostStreams = Number.POSITIVE_INFINITY;
  readonly #isServer: boolean;
  readonly #frames: StreamFrames;
  readonly #scheduler: SendScheduler;
  readonly #listener: ControlListener;
  readonly #budget = new Budget(controlBudget);
  /** Frames with content that the budget has taken into account. */
  #contentFrames = 0;

  constructor({ isServer, frames, scheduler, listener }: ControlFramesOptions) {
    this.#isServer = isServer;
    this.#frames = frames;
    this.#scheduler = scheduler;
    this.#listener = listener;
  }

  /** Counts a frame without content. Returns false when there were too many; then the connection has ended. */
  mayContinue(): boolean {
    if (this.#budget.spend()) return true;
    const { contentFrames } = this.#scheduler.output;
    this.#budget.earn((contentFrames - this.#contentFrames) * FRAMES_PER_CONTENT);
    this.#contentFrames = contentFrames;
    if (this.#budget.spend()) return true;
    this.#frames.fail(errorCode.enhanceYourCalm);
    return false;
  }

  frame(header: FrameHeader, bytes: Buffer, range: ByteRange): void {
    const fault = this.#faultOf(header, bytes, range);
    if (fault !== null) this.#frames.fail(fault);
  }

  /** Returns an error of the connection; null: none. */
  #faultOf(header: FrameHeader, bytes: Buffer, range: ByteRange): FrameErrorCode | null {
    const { type, stream, length } = header;
    switch (type) {
      case frameType.windowUpdate:
        return length === WORD
          ? this.#widen(stream, wordAt(bytes, range.start) & MAX_WINDOW)
          : errorCode.frameSizeError;
      case frameType.settings:
        return this.#settings(header, bytes, range);
      case frameType.ping:
        return this.#ping(header, bytes, range);
      case frameType.priority:
        return this.#priority(header, bytes, range.start);
      case frameType.priorityUpdate:
        return this.#priorityUpdate(header, bytes, range);
      case frameType.goAway:
        if (stream !== 0) return errorCode.protocolError;
        if (length < GOAWAY_LENGTH) return errorCode.frameSizeError;
        this.#listener.leaving(wordAt(bytes, range.start) & STREAM_ID, wordAt(bytes, range.start + WORD) >>> 0);
        return null;
      case frameType.pushPromise:
        return errorCode.protocolError;
      default:
        // Frames of unknown types are ignored (RFC 9113 section 5.5).
        return null;
    }
  }

  #widen(id: number, more: number): FrameErrorCode | null {
    const scheduler = this.#scheduler;
    if (id === 0) {
      if (more === 0) return errorCode.protocolError;
      if (!scheduler.widen(more)) return errorCode.flowControlError;
    } else {
      if (this.#frames.isIdle(id)) return errorCode.protocolError;
      const stream = this.#frames.streams.get(id);
      // A stream that has closed in the meantime.
      if (stream === undefined) return null;
      if (more === 0) this.#frames.streamError(id, errorCode.protocolError);
      else if (!stream.writer.widen(more)) this.#frames.streamError(id, errorCode.flowControlError);
    }
    scheduler.pump();
    return null;
  }

  #settings({ stream, flags, length }: FrameHeader, bytes: Buffer, { start, end }: ByteRange): FrameErrorCode | null {
    if (stream !== 0) return errorCode.protocolError;
    if ((flags & ACK) !== 0) {
      if (length !== 0) return errorCode.frameSizeError;
      if (!this.hasSettings) return errorCode.protocolError;
      this.#listener.settingsAcknowledged();
      return null;
    }
    if (length % SETTING_LENGTH !== 0) return errorCode.frameSizeError;
    if (length > MOST_SETTINGS * SETTING_LENGTH) return errorCode.enhanceYourCalm;
    for (let at = start; at < end; at += SETTING_LENGTH) {
      const fault = this.#apply(((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0), wordAt(bytes, at + 2) >>> 0);
      if (fault !== null) return fault;
    }
    this.hasSettings = true;
    this.#scheduler.output.frame(frameType.settings, ACK, 0);
    this.#scheduler.pump();
    this.#listener.settingsReceived?.();
    return null;
  }

  #apply(id: number, value: number): FrameErrorCode | null {
    const scheduler = this.#scheduler;
    if (id === setting.headerTableSize) scheduler.encoder.limitTable(value);
    else if (id === setting.enablePush) return value > (this.#isServer ? 0 : 1) ? errorCode.protocolError : null;
    else if (id === setting.maxConcurrentStreams) this.mostStreams = value;
    else if (id === setting.maxFrameSize) {
      return value < MAX_FRAME || value > MAX_FRAME_LIMIT ? errorCode.protocolError : null;
    } else if (id === setting.initialWindowSize) {
      if (value > MAX_WINDOW) return errorCode.flowControlError;
      const more = value - scheduler.initialWindow;
      scheduler.initialWindow = value;
      for (const { writer } of this.#frames.streams.values()) {
        if (!writer.widen(more)) return errorCode.flowControlError;
      }
    }
    return null;
  }

  #ping({ stream, flags, length }: FrameHeader, bytes: Buffer, { start, end }: ByteRange): FrameErrorCode | null {
    if (stream !== 0) return errorCode.protocolError;
    if (length !== PING_LENGTH) return errorCode.frameSizeError;
    if ((flags & ACK) !== 0) this.#listener.pinged();
    else this.#scheduler.output.frame(frameType.ping, ACK, 0, { bytes, start, end });
    return null;
  }

  /** Priorities of RFC 7540 are checked, but otherwise ignored (RFC 9113 section 5.3.2). */
  #priority({ stream, length }: FrameHeader, bytes: Buffer, start: number): FrameErrorCode | null {
    if (stream === 0) return errorCode.protocolError;
    if (length !== PRIORITY_LENGTH) this.#frames.streamError(stream, errorCode.frameSizeError);
    else if ((wordAt(bytes, start) & STREAM_ID) === stream) {
      this.#frames.streamError(stream, errorCode.protocolError);
    }
    return null;
  }

  /** RFC 9218 section 7.1. */
  #priorityUpdate({ stream, length }: FrameHeader, bytes: Buffer, { start, end }: ByteRange): FrameErrorCode | null {
    if (length < WORD) return errorCode.frameSizeError;
    if (this.#isServer) return errorCode.protocolError;
    const prioritized = wordAt(bytes, start) & STREAM_ID;
    if (stream !== 0 || prioritized === 0) return errorCode.protocolError;
    const found = this.#frames.streams.get(prioritized);
    if (found !== undefined) found.writer.priority = priorityOf(bytes.toString("latin1", start + WORD, end));
    return null;
  }
}
