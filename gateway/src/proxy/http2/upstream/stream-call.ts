/**
 * The upstream side of one exchange with an HTTP/2 upstream: tries targets until one responds, forwards the response.
 */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { TargetAttempts } from "../../../balance/target-attempts.ts";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { BodySink, ClientBody } from "../../client/client-body.ts";
import { isGrpc } from "../../exchange/grpc.ts";
import type { ForwardPlan, LiveExchange } from "../../exchange/live-exchange.ts";
import { withTargetHost } from "../../headers/upstream-headers.ts";
import type { Pipeline } from "../../pipeline.ts";
import type { ByteView } from "../../sockets/byte-view.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import {
  closedEarly,
  errorCodeOf,
  failureSignalOf,
  gatewayErrorFor,
  isUnreachable,
  mayRetry,
  readTimeout,
  tooManyInterims,
  UpstreamError,
  writeTimeout,
} from "../../upstream/failure.ts";
import { InterimResponseLimit } from "../../upstream/interim-limit.ts";
import { fieldsOf, passedTrailers, regularFields, sizeOf } from "../fields.ts";
import type { ResponseListener, UpstreamCallHandle } from "./response-listener.ts";
import type { SessionWaiter, UpstreamSession, UpstreamSessions } from "./upstream-sessions.ts";

export interface StreamCallOptions {
  readonly exchange: LiveExchange;
  readonly body: ClientBody | null;
  readonly forward: ForwardPlan;
  readonly pipeline: Pipeline;
  readonly sessions: UpstreamSessions;
  readonly listener: ResponseListener;
}

const WAITING = 0;
const ANSWERED = 1;
const OVER = 2;

const { NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;
const CONTINUE = 100;
const NO_TRAILERS: OutgoingHttpHeaders = {};

export class StreamCall implements UpstreamCallHandle, SessionWaiter, BodySink {
  readonly #options: StreamCallOptions;
  readonly #attempts: TargetAttempts<UpstreamTarget>;
  /** In a gRPC call either side may be silent while the other sends: only silence of both sides counts. */
  readonly #isConversation: boolean;
  readonly #silence = new IdleTimer(() => this.#silent());
  readonly #stall = new IdleTimer(() => this.#fail(writeTimeout()));
  #target: UpstreamTarget | null = null;
  #upstream: UpstreamSession | null = null;
  #stream: ClientHttp2Stream | null = null;
  /** Resets the stream with CANCEL; `close` would first end the request as if it were complete. */
  #cancel: AbortController | null = null;
  #giveUp: (() => void) | null = null;
  #triesLeft: number;
  #state = WAITING;
  /** Whether the client is still sending its body. */
  #sending = false;
  #paused = false;
  #error: Error | null = null;
  #interims: InterimResponseLimit | null = null;
  #requestTrailers = NO_TRAILERS;
  #trailers: readonly string[] | null = null;

  constructor(options: StreamCallOptions) {
    const { forward, exchange } = options;
    this.#options = options;
    this.#attempts = forward.upstream.attempts(exchange);
    this.#triesLeft = forward.upstream.service.retries;
    this.#isConversation = isGrpc(exchange.request);
  }

  start(): void {
    const { exchange, forward, sessions } = this.#options;
    const target = this.#attempts.next();
    exchange.beginTry(target, forward);
    this.#stream = null;
    this.#upstream = null;
    this.#error = null;
    this.#target = target;
    if (target === null) {
      this.#end();
      this.#options.listener.failed("noPeer", null);
      return;
    }
    const giveUp = sessions.open(target, this);
    this.#giveUp = this.#upstream === null ? giveUp : null;
  }

  opened(upstream: UpstreamSession): void {
    this.#giveUp = null;
    this.#upstream = upstream;
    const { body } = this.#options;
    const whole = body?.whole ?? null;
    this.#sending = body !== null && whole === null;
    const stream = this.#request(upstream, body === null || whole?.length === 0);
    if (stream === null) return;
    upstream.begin();
    this.#stream = stream;
    stream.once("close", () => this.#closed(stream, upstream));
    stream.on("error", (error) => {
      if (this.#stream === stream) this.#error = error;
    });
    stream.on("headers", this.#onInterim).once("response", this.#onResponse).on("drain", this.#onDrain);
    stream.once("wantTrailers", () => stream.sendTrailers(this.#requestTrailers));
    if (whole !== null && whole.length > 0) stream.end(whole);
    this.#touch();
    if (this.#sending) body?.forwardTo(this);
  }

  #request(upstream: UpstreamSession, endStream: boolean): ClientHttp2Stream | null {
    const cancel = new AbortController();
    this.#cancel = cancel;
    try {
      return upstream.session.request(this.#head(this.#target ?? upstream.target), {
        endStream,
        signal: cancel.signal,
        // Trailers are expected only if announced: otherwise every body would need an additional frame to end.
        waitForTrailers: this.#sending && this.#options.exchange.request.header("trailer") !== undefined,
      });
    } catch (error) {
      // A plugin has set an invalid header.
      this.#end();
      this.#options.listener.failed("unexpected", error as Error);
      return null;
    }
  }

  refused(error: Error): void {
    this.#giveUp = null;
    this.#failed(error, false);
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#touch();
    this.#stream?.resume();
  }

  abort(): void {
    if (this.#state === OVER) return;
    this.#end();
    this.#giveUp?.();
    this.#cancel?.abort();
  }

  take(view: ByteView): void {
    const stream = this.#stream;
    if (stream === null || stream.destroyed || stream.writableEnded) return;
    if (this.#isConversation) this.#touch();
    view.hold().writeTo(stream);
  }

  send(): boolean {
    if (!this.#stream?.writableNeedDrain) return true;
    this.#stall.start(this.#options.forward.upstream.service.write_timeout);
    return false;
  }

  finish(trailers: string): void {
    this.#sending = false;
    const passed = this.#options.exchange.forwardedTrailers(trailers);
    this.#requestTrailers = passed === "" ? NO_TRAILERS : passedTrailers(fieldsOf(passed));
    this.#stream?.end();
    if (this.#state !== OVER) this.#touch();
  }

  readonly #onDrain = (): void => {
    this.#stall.stop();
    if (this.#sending) this.#options.body?.drained();
  };

  readonly #onInterim = (headers: IncomingHttpHeaders, _flags: number, flat: readonly string[]): void => {
    const status = Number(headers[":status"]);
    if (this.#state !== WAITING) return;
    this.#interims ??= new InterimResponseLimit();
    if (!this.#interims.allows(sizeOf(flat))) this.#fail(tooManyInterims());
    // The gateway sends 100 Continue itself.
    else if (status > CONTINUE) this.#options.listener.interim(status, regularFields(flat));
  };

  readonly #onResponse = (headers: IncomingHttpHeaders, flags: number, flat: readonly string[]): void => {
    const stream = this.#stream;
    if (this.#state !== WAITING || stream === null) return;
    const { listener } = this.#options;
    const status = Number(headers[":status"]);
    const ended = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    this.#state = ANSWERED;
    this.#touch();
    this.#attempts.answered(status, this.#target);
    stream.on("trailers", (_trailers: IncomingHttpHeaders, _flags: number, fields: readonly string[]) => {
      this.#trailers = regularFields(fields);
    });
    stream.on("data", this.#onData).once("end", this.#onEnd);
    listener.head({ status, headers: regularFields(flat), ended, trailers: !ended });
  };

  readonly #onData = (piece: Buffer): void => {
    if (this.#state !== ANSWERED) return;
    this.#touch();
    this.#options.listener.data(piece);
    this.#paused = !this.#options.listener.flush();
    if (this.#paused) this.#stream?.pause();
  };

  readonly #onEnd = (): void => {
    const stream = this.#stream;
    // An aborted stream emits "end" too; "close" follows and handles it.
    if (this.#state !== ANSWERED || stream === null || stream.rstCode !== NGHTTP2_NO_ERROR) return;
    this.#end();
    this.#options.listener.end(this.#trailers);
    this.#options.listener.flush();
    // The rest of the client's body is not needed.
    if (!stream.writableEnded) this.#cancel?.abort();
  };

  #closed(stream: ClientHttp2Stream, upstream: UpstreamSession): void {
    upstream.end();
    if (this.#stream === stream) this.#failed(createStreamError(stream.rstCode ?? NGHTTP2_NO_ERROR, this.#error), true);
  }

  #failed(error: Error, connected: boolean): void {
    if (this.#state === OVER) return;
    const isAnswered = this.#state === ANSWERED;
    if (!isAnswered && this.#retries(error, connected)) return;
    this.#end();
    const { listener } = this.#options;
    if (isAnswered) listener.broken(error);
    else listener.failed(gatewayErrorFor(error), error);
  }

  #retries(error: Error, connected: boolean): boolean {
    const { exchange, forward, body } = this.#options;
    exchange.observer?.failed?.(exchange, error);
    const sign = failureSignalOf({ error, connected, fresh: this.#upstream?.isFresh ?? true });
    if (sign !== null) this.#attempts.failed(sign);
    if (isUnreachable({ error, connected })) this.#attempts.unreachable(this.#target);
    if (this.#triesLeft <= 0) return false;
    const arrived = connected && !isUnprocessed(this.#stream?.rstCode ?? NGHTTP2_NO_ERROR);
    const bodyBegun = body?.begun ?? false;
    const { hasOtherTarget } = this.#attempts;
    if (!mayRetry({ error, connected: arrived, method: forward.method, bodyBegun, hasOtherTarget })) return false;
    this.#triesLeft--;
    body?.hold();
    this.#silence.stop();
    this.#stall.stop();
    setImmediate(() => {
      if (this.#state === WAITING) this.start();
    });
    return true;
  }

  /** While the client still sends, or does not read, the upstream's silence is not an error. */
  #silent(): void {
    const isOwing = this.#isConversation || this.#state === ANSWERED || !this.#sending;
    if (this.#paused || !isOwing) this.#touch();
    else {
      // The connection itself may be dead.
      this.#upstream?.retire();
      this.#fail(readTimeout());
    }
  }

  #fail(error: Error): void {
    const cancel = this.#cancel;
    this.#failed(error, true);
    cancel?.abort();
  }

  #touch(): void {
    this.#silence.start(this.#options.forward.upstream.service.read_timeout);
  }

  #end(): void {
    this.#state = OVER;
    this.#silence.close();
    this.#stall.close();
    this.#attempts.endTry();
  }

  /** Flat list, with pseudo-header fields. */
  #head(target: UpstreamTarget): string[] {
    const { exchange, forward, pipeline } = this.#options;
    const { method, path } = forward;
    let authority = "";
    const fields: string[] = [];
    const headers = withTargetHost(target, pipeline.upstreamHeaders(exchange), exchange);
    for (let at = 0; at < headers.length; at += 2) {
      const name = (headers[at] ?? "").toLowerCase();
      const value = headers[at + 1] ?? "";
      if (name === "host") authority = value;
      else fields.push(name, value);
    }
    return [":method", method, ":scheme", target.scheme, ":authority", authority, ":path", path, ...fields];
  }
}

/** Indexed by error code (RFC 9113 section 7). */
const resetNames = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
] as const;

/** The upstream did not process the request (RFC 9113 section 8.7). */
const isUnprocessed = (rstCode: number): boolean => rstCode === constants.NGHTTP2_REFUSED_STREAM;

/**
 * @param rstCode Code of the reset; also 0 or CANCEL when the connection broke
 * @param error Error of the stream
 */
function createStreamError(rstCode: number, error: Error | null): Error {
  if (error !== null && !errorCodeOf(error).startsWith("ERR_HTTP2_")) return error;
  if (rstCode === constants.NGHTTP2_NO_ERROR || rstCode === constants.NGHTTP2_CANCEL) return closedEarly();
  return new UpstreamError("SLUICE_STREAM_RESET", `the upstream ended the stream: ${resetNames[rstCode] ?? rstCode}`);
}
