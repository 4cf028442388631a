/** One exchange with an HTTP/2 upstream: sends the request as a stream, and passes the response on. */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import { isGrpc } from "../../exchange/protocols.ts";
import { withTargetHost } from "../../headers/upstream-headers.ts";
import type { Pipeline } from "../../pipeline.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import {
  closedEarly,
  errorCodeOf,
  InterimResponseLimit,
  tooManyInterims,
  UpstreamError,
} from "../../upstream/failure.ts";
import { UpstreamCall, type UpstreamCallListener, type UpstreamCallOptions } from "../../upstream/upstream-call.ts";
import { fieldsOf, passedTrailers, regularFields, requestFields, sizeOf } from "../fields.ts";
import type { SessionWaiter, UpstreamSession, UpstreamSessions } from "./upstream-sessions.ts";

/** Head of a response. */
export interface UpstreamHead {
  readonly status: number;
  /** Flat list: name, value, name, value. */
  readonly headers: readonly string[];
  /** Whether the response has no body. */
  readonly isBodiless: boolean;
  /** Whether trailers may follow the body. */
  readonly mayTrail: boolean;
}

export interface StreamCallOptions extends UpstreamCallOptions<UpstreamCallListener<UpstreamHead, readonly string[]>> {
  readonly pipeline: Pipeline;
  readonly sessions: UpstreamSessions;
}

const { NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;
const CONTINUE = 100;
const NO_TRAILERS: OutgoingHttpHeaders = {};

export class StreamCall extends UpstreamCall<StreamCallOptions["listener"]> implements SessionWaiter {
  readonly silence = new IdleTimer(() => this.silent());
  readonly stall = new IdleTimer(() => this.stalled());
  readonly #options: StreamCallOptions;
  /** True for gRPC. In such a call either side may be silent while the other sends: only silence of both is limited. */
  readonly #isConversation: boolean;
  #upstream: UpstreamSession | null = null;
  #stream: ClientHttp2Stream | null = null;
  /** Resets the stream with CANCEL; `close` would first end the request as if it were complete. */
  #cancel: AbortController | null = null;
  #giveUp: (() => void) | null = null;
  #error: Error | null = null;
  #interims: InterimResponseLimit | null = null;
  #requestTrailers = NO_TRAILERS;
  #trailers: readonly string[] | null = null;

  constructor(options: StreamCallOptions) {
    super(options);
    this.#options = options;
    this.#isConversation = isGrpc(options.exchange.request);
  }

  protected override open(target: UpstreamTarget): void {
    this.#stream = null;
    this.#upstream = null;
    this.#error = null;
    const giveUp = this.#options.sessions.open(target, this);
    this.#giveUp = this.#upstream === null ? giveUp : null;
  }

  opened(upstream: UpstreamSession): void {
    this.#giveUp = null;
    this.#upstream = upstream;
    const { body } = this;
    const whole = body?.whole ?? null;
    this.isSending = body !== null && whole === null;
    const stream = this.#request(upstream, body === null || whole?.length === 0);
    if (stream === null) return;
    upstream.begin();
    this.#stream = stream;
    stream.once("close", () => this.#closed(stream, upstream));
    stream.on("error", (error) => {
      if (this.#stream === stream) this.#error = error;
    });
    stream
      .on("headers", this.#onInterim)
      .once("response", this.#onResponse)
      .on("drain", () => this.drained());
    stream.once("wantTrailers", () => stream.sendTrailers(this.#requestTrailers));
    if (whole !== null && whole.length > 0) stream.end(whole);
    this.restartSilenceTimer();
    if (this.isSending) body?.forwardTo(this);
  }

  #request(upstream: UpstreamSession, endStream: boolean): ClientHttp2Stream | null {
    const cancel = new AbortController();
    this.#cancel = cancel;
    try {
      return upstream.session.request(this.#head(this.target ?? upstream.target), {
        endStream,
        signal: cancel.signal,
        // Trailers are expected only if announced: otherwise every body would need an additional frame to end.
        waitForTrailers: this.isSending && this.exchange.request.header("trailer") !== undefined,
      });
    } catch (error) {
      // A plugin has set an invalid header.
      this.settle();
      this.listener.failed("unexpected", error as Error);
      return null;
    }
  }

  refused(error: Error): void {
    this.#giveUp = null;
    this.failed(error);
  }

  protected override get carrier(): UpstreamSession | null {
    return this.#stream === null ? null : this.#upstream;
  }

  protected override get timers(): this {
    return this;
  }

  protected override get isUnprocessed(): boolean {
    // RFC 9113 section 8.7.
    return this.#stream?.rstCode === constants.NGHTTP2_REFUSED_STREAM;
  }

  protected override get owesData(): boolean {
    return this.#isConversation || super.owesData;
  }

  protected override resumeReading(): void {
    this.#stream?.resume();
  }

  protected override cancel(): void {
    this.#giveUp?.();
    // The end of the stream must not end a later attempt.
    this.#stream = null;
    this.#cancel?.abort();
  }

  protected override settle(): void {
    super.settle();
    this.silence.close();
    this.stall.close();
  }

  override silent(): void {
    super.silent();
    // The attempt was cancelled, and the connection itself may be dead.
    if (this.#stream === null) this.#upstream?.retire();
  }

  override writeBody(view: ByteView): void {
    const stream = this.#stream;
    if (stream === null || stream.destroyed || stream.writableEnded) return;
    if (this.#isConversation) this.restartSilenceTimer();
    view.hold().writeTo(stream);
  }

  override flushBody(): boolean {
    if (!this.#stream?.writableNeedDrain) return true;
    this.startStall();
    return false;
  }

  override endBody(trailers: string): void {
    this.isSending = false;
    const passed = this.exchange.forwardedTrailers(trailers);
    this.#requestTrailers = passed === "" ? NO_TRAILERS : passedTrailers(fieldsOf(passed));
    this.#stream?.end();
    if (!this.isOver) this.restartSilenceTimer();
  }

  readonly #onInterim = (headers: IncomingHttpHeaders, _flags: number, flat: readonly string[]): void => {
    const status = Number(headers[":status"]);
    if (!this.isWaiting) return;
    this.#interims ??= new InterimResponseLimit();
    if (!this.#interims.allows(sizeOf(flat))) this.fail(tooManyInterims());
    // The gateway sends 100 Continue itself.
    else if (status > CONTINUE) {
      this.listener.interim({ status, headers: regularFields(flat), isBodiless: true, mayTrail: false });
    }
  };

  readonly #onResponse = (headers: IncomingHttpHeaders, flags: number, flat: readonly string[]): void => {
    const stream = this.#stream;
    if (!this.isWaiting || stream === null) return;
    const status = Number(headers[":status"]);
    const isBodiless = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    this.restartSilenceTimer();
    if (!this.beginResponse(status)) return;
    stream.on("trailers", (_trailers: IncomingHttpHeaders, _flags: number, fields: readonly string[]) => {
      this.#trailers = regularFields(fields);
    });
    stream.on("data", this.#onData).once("end", this.#onEnd);
    this.listener.head({ status, headers: regularFields(flat), isBodiless, mayTrail: !isBodiless });
  };

  readonly #onData = (piece: Buffer): void => {
    if (!this.isAnswered) return;
    this.restartSilenceTimer();
    this.listener.data(ByteView.of(piece));
    this.isPaused = !this.listener.flush();
    if (this.isPaused) this.#stream?.pause();
  };

  readonly #onEnd = (): void => {
    const stream = this.#stream;
    // An aborted stream emits "end" too; "close" follows and handles it.
    if (!this.isAnswered || stream === null || stream.rstCode !== NGHTTP2_NO_ERROR) return;
    this.settle();
    this.listener.end(this.#trailers);
    this.listener.flush();
    // The rest of the client's body is not needed.
    if (!stream.writableEnded) this.#cancel?.abort();
  };

  #closed(stream: ClientHttp2Stream, upstream: UpstreamSession): void {
    upstream.end();
    if (this.#stream === stream) this.failed(createStreamError(stream.rstCode ?? NGHTTP2_NO_ERROR, this.#error));
  }

  #head(target: UpstreamTarget): string[] {
    const { exchange } = this;
    const { method, path } = this.forward;
    const headers = withTargetHost(target, this.#options.pipeline.upstreamHeaders(exchange), exchange);
    return requestFields({ method, scheme: target.scheme, path, headers });
  }
}

/** Indexed by error code (RFC 9113 section 7). */
const resetNames = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
] as const;

/**
 * @param rstCode Code of the reset; also 0 or CANCEL when the connection broke
 * @param error Error of the stream
 */
function createStreamError(rstCode: number, error: Error | null): Error {
  if (error !== null && !errorCodeOf(error).startsWith("ERR_HTTP2_")) return error;
  if (rstCode === constants.NGHTTP2_NO_ERROR || rstCode === constants.NGHTTP2_CANCEL) return closedEarly();
  return new UpstreamError("SLUICE_STREAM_RESET", `the upstream ended the stream: ${resetNames[rstCode] ?? rstCode}`);
}
