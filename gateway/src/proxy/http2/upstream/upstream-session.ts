/** One connection to an HTTP/2 upstream, with concurrent requests. */
import type { Socket } from "node:net";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import { defaultHeadLimits } from "../../http1/parse/head-parser.ts";
import type { ByteView } from "../../sockets/byte-view.ts";
import type { ReadBuffer } from "../../sockets/read-buffer.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import { closedEarly } from "../../upstream/failure.ts";
import type { ConnectionFramesOwner } from "../connection/connection-frames.ts";
import { SendScheduler } from "../connection/send-scheduler.ts";
import { FrameOutput } from "../frames/frame-output.ts";
import { DEFAULT_WINDOW, errorCode, type FrameErrorCode, frameType, PREFACE, setting } from "../frames/frame-types.ts";
import { HpackEncoder } from "../hpack/encoder.ts";
import { CONNECTION_WINDOW, MOST_BACKLOG, maxBlock, STREAM_WINDOW } from "../limits.ts";
import { connectionLeft, PING_TIME, pingUnanswered, violation } from "./http2-failure.ts";
import type { ResponseCollector } from "./response-collector.ts";
import { ResponseFrames } from "./response-frames.ts";
import { type UpstreamRequest, UpstreamStream, type UpstreamStreamCarrier } from "./upstream-stream.ts";

/** Concurrent requests per connection, even if the upstream allows more. */
const MOST_STREAMS = 128;
/** Maximum requests per connection, as for HTTP/1.1. */
const MOST_REQUESTS = 10_000;
/** Milliseconds within which the upstream must close its side after the gateway closed its own. */
const CLOSING_LINGER = 2000;
/** Milliseconds of silence before TCP keep-alive probes the upstream. Servers of gRPC refuse frequent PING frames. */
const TCP_PROBE = 20_000;

/** Receives what happens to a connection. */
export interface UpstreamSessionOwner {
  /** Called when the upstream has sent its settings: from then on, requests may be sent. */
  greeted(session: UpstreamSession): void;
  /** Called when another request may be possible. */
  available(session: UpstreamSession): void;
  /** Called when the connection accepts no more requests. May be called again. */
  left(session: UpstreamSession): void;
}

export interface UpstreamSessionOptions {
  /** Contains the response that is being decoded. */
  readonly collector: ResponseCollector;
  /** The socket's read buffer. */
  readonly inlet: ReadBuffer;
  /** Milliseconds that the connection is kept while it is idle. */
  readonly keepAlive: number;
  readonly owner: UpstreamSessionOwner;
}

export class UpstreamSession implements ConnectionFramesOwner<UpstreamStream>, UpstreamStreamCarrier {
  readonly target: UpstreamTarget;
  readonly scheduler: SendScheduler;
  /** Requests sent on this connection so far. */
  requests = 0;
  readonly #socket: Socket;
  readonly #inlet: ReadBuffer;
  readonly #owner: UpstreamSessionOwner;
  readonly #keepAlive: number;
  readonly #output: FrameOutput;
  readonly #frames: ResponseFrames;
  /** Runs while no request is under way, and while the upstream has to close its side. */
  readonly #idle = new IdleTimer(() => this.#idled());
  /** Runs while the upstream has to answer a PING. */
  readonly #probe = new IdleTimer(() => this.#lose(pingUnanswered()));
  #isGreeted = false;
  #isProbed = false;
  /** Whether no more requests are accepted. */
  #isRetired = false;
  #isClosing = false;
  #error: Error | null = null;

  /** @param socket Connected; nothing was read from it */
  constructor(target: UpstreamTarget, socket: Socket, { collector, inlet, keepAlive, owner }: UpstreamSessionOptions) {
    this.target = target;
    this.#socket = socket;
    this.#inlet = inlet;
    this.#owner = owner;
    this.#keepAlive = keepAlive;
    this.#output = new FrameOutput(socket, () => {});
    this.scheduler = new SendScheduler(this.#output, new HpackEncoder());
    this.#frames = new ResponseFrames({
      owner: this,
      scheduler: this.scheduler,
      collector,
      maxBlock: maxBlock(defaultHeadLimits),
    });
    inlet.read = this.#onRead;
    socket.on("drain", this.#onDrain);
    // A half-closed upstream is treated as gone.
    socket.on("end", this.#onEnd).on("error", this.#onError).on("close", this.#onClose);
    socket.setKeepAlive(true, TCP_PROBE);
    this.#greet();
  }

  /** Whether another request can start now. */
  get hasRoom(): boolean {
    const most = Math.min(this.#frames.mostStreams, MOST_STREAMS);
    return this.isUsable && !this.#isProbed && this.#frames.streams.size < most;
  }

  get isUsable(): boolean {
    return this.#isGreeted && !this.#isRetired && this.requests < MOST_REQUESTS;
  }

  get isIdle(): boolean {
    return this.#frames.streams.size === 0;
  }

  /**
   * Whether at most one request was sent so far. If so, a failure of this request does not mean that the connection was
   * stale.
   */
  get isFresh(): boolean {
    return this.requests <= 1;
  }

  /** Sends the head of a request. To be called only if `hasRoom` is true. */
  request(request: UpstreamRequest): UpstreamStream {
    this.requests++;
    this.#idle.stop();
    const stream = this.#frames.open((id) => new UpstreamStream(id, this, request));
    stream.writer.head(request.parts, request.ended);
    return stream;
  }

  /**
   * Sends a PING, because a request was not answered in time: the upstream may be unreachable. Until it answers, the
   * connection gets no more requests; without an answer it is closed.
   */
  probe(): void {
    if (this.#isProbed || this.#isClosing) return;
    this.#isProbed = true;
    this.#output.ping();
    this.#probe.start(PING_TIME);
  }

  /** Accepts no more requests, and closes when those under way are over. */
  retire(): void {
    this.#leave();
    if (this.isIdle) this.#end(errorCode.noError);
  }

  /** Closes the connection. The requests under way fail. */
  destroy(): void {
    this.#lose(closedEarly());
  }

  widenStream(id: number, bytes: number): void {
    this.#output.word(frameType.windowUpdate, id, bytes);
  }

  reset(id: number, code: FrameErrorCode): void {
    this.#frames.reset(id, code);
  }

  ended(id: number): void {
    this.#frames.ended(id);
  }

  closed(): void {
    if (this.#isClosing) return;
    if (this.isIdle) {
      if (!this.isUsable) {
        this.#leave();
        this.#end(errorCode.noError);
        return;
      }
      this.#idle.start(this.#keepAlive);
    }
    this.#owner.available(this);
  }

  fail(code: FrameErrorCode): void {
    if (this.#isClosing) return;
    this.#failAll(violation(code));
    this.#end(code);
  }

  pinged(): void {
    if (!this.#isProbed) return;
    this.#isProbed = false;
    this.#probe.stop();
    this.#owner.available(this);
  }

  settingsAcknowledged(): void {}

  settingsReceived(): void {
    if (this.#isGreeted) {
      this.#owner.available(this);
      return;
    }
    this.#isGreeted = true;
    this.#idle.start(this.#keepAlive);
    this.#owner.greeted(this);
  }

  leaving(lastStream: number, code: number): void {
    if (this.#isClosing) return;
    this.#leave();
    for (const stream of [...this.#frames.streams.values()]) {
      if (stream.id <= lastStream) continue;
      stream.fail(connectionLeft(code), true);
      this.#frames.ended(stream.id);
    }
    // The end of the last stream has closed the connection already.
    if (this.isIdle && !this.#isClosing) this.#end(errorCode.noError);
  }

  #greet(): void {
    const socket = this.#socket;
    socket.cork();
    socket.write(PREFACE);
    this.#output.settings([
      [setting.enablePush, 0],
      [setting.initialWindowSize, STREAM_WINDOW],
      [setting.maxHeaderListSize, defaultHeadLimits.fields],
    ]);
    this.#output.word(frameType.windowUpdate, 0, CONNECTION_WINDOW - DEFAULT_WINDOW);
    this.#output.flush();
    socket.uncork();
  }

  readonly #onRead = (view: ByteView): void => {
    if (this.#isClosing) {
      // An upstream that continues to send must not cost more.
      this.#socket.pause();
      return;
    }
    const inlet = this.#inlet;
    this.#frames.read(view);
    inlet.isLong = view.length >= inlet.longRead && this.#frames.expectsBody;
    // An upstream that does not read what the gateway sends may not cause more of it.
    if (this.#output.backlog > MOST_BACKLOG) this.#socket.pause();
  };

  readonly #onDrain = (): void => {
    this.scheduler.pump();
    if (!this.#isClosing && this.#socket.isPaused() && this.#output.backlog <= MOST_BACKLOG) this.#socket.resume();
  };

  readonly #onEnd = (): void => this.#lose(closedEarly());

  readonly #onError = (error: Error): void => {
    this.#error = error;
  };

  readonly #onClose = (): void => this.#lose(this.#error ?? closedEarly());

  #idled(): void {
    if (this.#isClosing) this.#socket.destroy();
    else this.retire();
  }

  #leave(): void {
    this.#isRetired = true;
    this.#owner.left(this);
  }

  #failAll(error: Error): void {
    this.#isClosing = true;
    this.#leave();
    for (const stream of this.#frames.streams.values()) {
      // A response that has arrived completely may still wait for its client, while the request is incomplete.
      if (stream.isReceiving) stream.fail(error);
    }
    this.#frames.closeAll();
  }

  /** Closes this side of the connection. */
  #end(code: FrameErrorCode): void {
    this.#isClosing = true;
    this.#frames.stop();
    this.#probe.close();
    // The upstream has opened no streams.
    this.#output.goAway(0, code);
    this.#output.flush();
    this.#socket.end();
    this.#idle.start(CLOSING_LINGER);
  }

  /** Called when the connection is of no use any more. */
  #lose(error: Error): void {
    this.#frames.stop();
    this.#failAll(error);
    this.#idle.close();
    this.#probe.close();
    this.#socket.destroy();
  }
}
