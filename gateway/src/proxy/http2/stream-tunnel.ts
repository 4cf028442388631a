/**
 * A WebSocket of an HTTP/2 stream (RFC 8441): DATA frames carry its bytes, in both directions no faster than the
 * recipient reads them. The end of the upstream's data ends the stream, and the end of the client's data ends the
 * upstream's side. An abnormal end of the upstream's connection resets the stream.
 */
import type { TunnelOptions } from "../http1/tunnel.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { errorCode, type FrameErrorCode } from "./frames/frame-types.ts";
import type { StreamWriter } from "./responses/stream-writer.ts";

/** The side of the upstream, which has switched to WebSocket. `onClose` is called when the stream has closed. */
export type TunnelledUpstream = Omit<TunnelOptions, "client" | "account">;

/** The stream of a tunnel. */
export interface TunnelStream {
  readonly writer: StreamWriter;
  /** Called when bytes wait for the upstream; negative when it has accepted them. */
  hold(bytes: number): void;
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
  /** Runs while neither side sends. */
  readonly #idle = new IdleTimer(() => this.#stream.reset(errorCode.cancel));
  /** Bytes of the client that wait for the upstream. */
  #waiting = 0;
  #hasFailed = false;
  #isOver = false;

  constructor({ upstream, silence, onClose }: TunnelledUpstream, stream: TunnelStream) {
    this.#upstream = upstream;
    this.#stream = stream;
    this.#silence = silence;
    this.#onClose = onClose;
    upstream.setKeepAlive(true, PROBE);
    upstream.on("data", this.#onData).on("drain", this.#onDrain).on("end", this.#onEnd);
    upstream.on("error", this.#onError).on("close", this.#onClosed).resume();
    this.#idle.start(silence);
  }

  /** Whether the upstream's connection has closed. */
  get isClosed(): boolean {
    return this.#upstream.destroyed;
  }

  /** Sends bytes of the client. */
  send(view: ByteView): void {
    const { length } = view;
    this.#idle.start(this.#silence);
    if (this.isClosed || view.hold().writeTo(this.#upstream)) this.#stream.consume(length);
    else {
      this.#waiting += length;
      this.#stream.hold(length);
    }
  }

  /** Called when the client has ended its side. */
  end(): void {
    this.#upstream.end();
  }

  /** Called when the client accepts data again. */
  drained(): void {
    this.#idle.start(this.#silence);
    this.#upstream.resume();
  }

  /** Called when the stream has closed. */
  close(): void {
    const upstream = this.#upstream;
    this.#isOver = true;
    this.#idle.close();
    if (this.#waiting > 0) this.#stream.hold(-this.#waiting);
    // The last bytes of the client may not have left.
    if (upstream.writableEnded && upstream.readableEnded) upstream.setTimeout(this.#silence, () => upstream.destroy());
    else upstream.destroy();
    this.#onClose();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isOver) return;
    const { writer } = this.#stream;
    this.#idle.start(this.#silence);
    writer.data(ByteView.of(bytes));
    if (!writer.isTaking) this.#upstream.pause();
  };

  readonly #onDrain = (): void => {
    const bytes = this.#waiting;
    if (bytes === 0 || this.#isOver) return;
    this.#waiting = 0;
    this.#stream.hold(-bytes);
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
    if (this.#hasFailed || !this.#upstream.readableEnded) this.#stream.reset(errorCode.cancel);
    else this.#stream.upstreamClosed();
  };
}
