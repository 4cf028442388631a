/**
 * A WebSocket of an HTTP/2 stream (RFC 8441): DATA frames carry its bytes, in both directions no faster than the
 * recipient reads them. The end of the upstream's data ends the stream, and the end of the client's data ends the
 * upstream's side. An abnormal end of the upstream's connection resets the stream, and so does an upstream that accepts
 * no data for its service's write_timeout: what waits for it takes up the window of the client's connection, and the
 * client's other requests would wait too.
 */
import type { TunnelOptions } from "../http1/tunnel.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { errorCode, type FrameErrorCode } from "./frames/frame-types.ts";
import type { StreamWriter } from "./responses/stream-writer.ts";

/** The side of the upstream, which has switched to WebSocket. `onClose` is called when the stream has closed. */
export interface TunnelledUpstream extends Omit<TunnelOptions, "client" | "account"> {
  /** Milliseconds that bytes of the client may wait while the upstream accepts none. */
  readonly stall: number;
}

/** The stream of a tunnel. */
export interface TunnelStream {
  readonly writer: StreamWriter;
  /** Called when bytes wait for the upstream; negative when it has accepted them. */
  countHeld(bytes: number): void;
  /** Called when the client may send as many bytes again. */
  consume(bytes: number): void;
  /** Called when both sides of the upstream's connection have ended. */
  upstreamClosed(): void;
  reset(code: FrameErrorCode): void;
}

/** Milliseconds of silence before TCP keep-alive probes the upstream. */
const PROBE = 20_000;

export class StreamTunnel {
  readonly #upstream: TunnelledUpstream["upstream"];
  readonly #stream: TunnelStream;
  readonly #silence: number;
  readonly #onClose: () => void;
  /** Runs while neither side sends. The client may still be reading bytes that wait for it. */
  readonly #idle: ProgressTimer;
  /** Runs while bytes wait for the upstream. */
  readonly #stall: ProgressTimer;
  /** Bytes of the client that wait for the upstream. */
  #waiting = 0;
  #hasFailed = false;
  #isOver = false;

  constructor({ upstream, silence, stall, onClose }: TunnelledUpstream, stream: TunnelStream) {
    this.#upstream = upstream;
    this.#stream = stream;
    this.#silence = silence;
    this.#onClose = onClose;
    const cancel = () => stream.reset(errorCode.cancel);
    this.#idle = new ProgressTimer(silence, () => stream.writer.taken, cancel);
    this.#stall = new ProgressTimer(stall, () => upstream.bytesWritten - upstream.writableLength, cancel);
    upstream.setKeepAlive(true, PROBE);
    upstream.on("data", this.#onData).on("drain", this.#onDrain).on("end", this.#onEnd);
    upstream.on("error", this.#onError).on("close", this.#onClosed).resume();
    this.#idle.start();
  }

  /** Whether the upstream's connection has closed. */
  get isClosed(): boolean {
    return this.#upstream.destroyed;
  }

  /** Sends bytes of the client. */
  send(view: ByteView): void {
    const { length } = view;
    this.#idle.start();
    if (this.isClosed || view.hold().writeTo(this.#upstream)) this.#stream.consume(length);
    else {
      if (this.#waiting === 0) this.#stall.start();
      this.#waiting += length;
      this.#stream.countHeld(length);
    }
  }

  /** Called when the client has ended its side. */
  end(): void {
    // After `end`, the socket does not emit "drain".
    this.#upstream.end(this.#onDrain);
  }

  /** Called when the client accepts data again. */
  drained(): void {
    this.#idle.start();
    this.#upstream.resume();
  }

  /** Called when the stream has closed. */
  close(): void {
    const upstream = this.#upstream;
    this.#isOver = true;
    this.#idle.close();
    this.#stall.close();
    if (this.#waiting > 0) this.#stream.countHeld(-this.#waiting);
    // The last bytes of the client may not have left.
    if (upstream.writableEnded && upstream.readableEnded) upstream.setTimeout(this.#silence, () => upstream.destroy());
    else upstream.destroy();
    this.#onClose();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isOver) return;
    const { writer } = this.#stream;
    this.#idle.start();
    writer.data(ByteView.of(bytes));
    if (!writer.isTaking) this.#upstream.pause();
  };

  readonly #onDrain = (): void => {
    const bytes = this.#waiting;
    if (bytes === 0 || this.#isOver) return;
    this.#waiting = 0;
    this.#stall.stop();
    this.#stream.countHeld(-bytes);
    this.#stream.consume(bytes);
  };

  readonly #onEnd = (): void => {
    if (!this.#isOver) this.#stream.writer.end(null);
  };

  readonly #onError = (): void => {
    this.#hasFailed = true;
  };

  readonly #onClosed = (): void => {
    if (this.#isOver) return;
    this.#onDrain();
    if (this.#hasFailed || !this.#upstream.readableEnded) this.#stream.reset(errorCode.cancel);
    else this.#stream.upstreamClosed();
  };
}

/** Runs out after this many milliseconds without progress. */
class ProgressTimer {
  readonly #limit: number;
  readonly #bytes: () => number;
  readonly #onLate: () => void;
  readonly #timer = new IdleTimer(() => this.#check());
  /** `bytes` when the timer was last started. */
  #seen = 0;

  /** @param bytes Returns a count that grows with the progress */
  constructor(limit: number, bytes: () => number, onLate: () => void) {
    this.#limit = limit;
    this.#bytes = bytes;
    this.#onLate = onLate;
  }

  start(): void {
    this.#seen = this.#bytes();
    this.#timer.start(this.#limit);
  }

  stop(): void {
    this.#timer.stop();
  }

  /** Also clears the underlying timer. */
  close(): void {
    this.#timer.close();
  }

  #check(): void {
    if (this.#bytes() === this.#seen) this.#onLate();
    else this.start();
  }
}
