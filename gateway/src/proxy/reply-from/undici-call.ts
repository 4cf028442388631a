/** One exchange with an upstream over undici: sends the request, and passes the response on. */
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import { type RawHeaders, rawHeaderValues } from "../headers/raw-headers.ts";
import { withTargetHost } from "../headers/upstream-headers.ts";
import type { Pipeline } from "../pipeline.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { errorCodeOf, unreadable } from "../upstream/failure.ts";
import { UpstreamCall, type UpstreamCallListener, type UpstreamCallOptions } from "../upstream/upstream-call.ts";
import { malformedResponseReason } from "./malformed-head.ts";
import type { UndiciPools } from "./undici-pools.ts";

export interface UndiciResponse {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly statusText: string;
  readonly isDelimited: boolean;
}

export type UndiciCallListener = Omit<UpstreamCallListener<UndiciResponse, RawHeaders>, "interim">;

export interface UndiciCallOptions extends UpstreamCallOptions<UndiciCallListener> {
  readonly pipeline: Pipeline;
  readonly pools: UndiciPools;
}

const framing = ["content-length", "transfer-encoding"];

type Controller = Dispatcher.DispatchController;

export class UndiciCall extends UpstreamCall<UndiciCallListener> {
  /** This timer and `stall` replace undici's timers, which may be a second late. */
  readonly silence = new IdleTimer(() => this.silent());
  readonly stall = new IdleTimer(() => this.stalled());
  readonly #options: UndiciCallOptions;
  /** The current attempt; null: none has begun, or it was cancelled. */
  #attempt: Attempt | null = null;
  #controller: Controller | null = null;
  /** The client's body as undici reads it; null: there is no body, or it is sent as a whole. */
  #outgoing: Readable | null = null;
  #status = 0;

  constructor(options: UndiciCallOptions) {
    super(options);
    this.#options = options;
  }

  protected override open(target: UpstreamTarget): void {
    const { pipeline, pools } = this.#options;
    const whole = this.body?.whole ?? null;
    this.#controller = null;
    this.isSending = this.body !== null && whole === null;
    this.#outgoing = this.isSending ? this.#openBody() : null;
    const request: Dispatcher.DispatchOptions & { servername?: string } = {
      method: this.forward.method,
      path: this.forward.path,
      headers: withTargetHost(target, pipeline.upstreamHeaders(this.exchange), this.exchange) as string[],
      body: whole ?? this.#outgoing,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    // Without `servername`, undici derives the SNI from the Host header, which the client controls with preserve_host.
    // An address is not a valid SNI; it is set only to keep undici from keying connections by that header.
    const serverName = target.serverName ?? (target.scheme === "https" ? target.host : null);
    if (serverName !== null) request.servername = serverName;
    this.#attempt = new Attempt(this);
    pools.of(target).dispatch(request, this.#attempt);
  }

  /** The client's body as a stream. Nothing is read from the client before undici asks for it. */
  #openBody(): Readable {
    let isRead = false;
    return new Readable({
      read: () => {
        if (isRead) this.drained();
        else this.body?.forwardTo(this);
        isRead = true;
      },
    });
  }

  protected override get carrier(): { readonly isFresh: boolean } | null {
    if (this.#controller === null || this.target === null) return null;
    const { forwarded = 0 } = this.exchange.timings;
    return { isFresh: this.#options.pools.hasConnectedSince(this.target, forwarded) };
  }

  protected override get timers(): this {
    return this;
  }

  protected override resumeReading(): void {
    this.#controller?.resume();
  }

  protected override cancel(): void {
    this.#attempt = null;
    this.#controller?.abort(unneeded());
  }

  protected override settle(): void {
    super.settle();
    this.silence.close();
    this.stall.close();
  }

  override writeBody(view: ByteView): void {
    this.#outgoing?.push(view.keep());
  }

  override flushBody(): boolean {
    const outgoing = this.#outgoing;
    if (outgoing === null || outgoing.destroyed || outgoing.readableLength < outgoing.readableHighWaterMark)
      return true;
    this.startStall();
    return false;
  }

  override endBody(): void {
    this.isSending = false;
    this.#outgoing?.push(null);
    if (!this.isOver) this.restartSilenceTimer();
  }

  isCurrent(attempt: Attempt): boolean {
    return attempt === this.#attempt;
  }

  begin(controller: Controller): void {
    this.#controller = controller;
    this.restartSilenceTimer();
  }

  head(controller: Controller, status: number, statusText: string): void {
    const headers = flat(controller.rawHeaders);
    const fault = malformedResponseReason(headers, statusText);
    if (fault !== null) {
      this.fail(unreadable(fault));
      return;
    }
    this.#status = status;
    this.restartSilenceTimer();
    if (!this.beginResponse(status)) return;
    const { method } = this.#options.forward;
    this.listener.head({
      status,
      headers,
      statusText,
      get isDelimited() {
        return method === "HEAD" || framing.some((name) => rawHeaderValues(headers, name).length > 0);
      },
    });
  }

  data(controller: Controller, chunk: Buffer): void {
    this.restartSilenceTimer();
    this.listener.data(ByteView.of(chunk));
    this.isPaused = !this.listener.flush();
    if (this.isPaused) controller.pause();
  }

  end(trailers: RawHeaders): void {
    this.settle();
    this.listener.end(trailers.length === 0 ? null : trailers);
  }

  broke(error: Error): void {
    if (this.isAnswered && this.#hasNoBody(error)) this.end([]);
    else this.failed(error);
  }

  /**
   * Whether the error only means that a 204 or 304 has no body: undici reports missing bytes of a Content-Length also
   * for these responses (RFC 9110 section 8.6).
   */
  #hasNoBody(error: Error): boolean {
    return (
      (this.#status === 204 || this.#status === 304) && errorCodeOf(error) === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"
    );
  }
}

const unneeded = () => new Error("the response is no longer needed");

/** Passes undici's events on while the attempt is the current one of its call. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #call: UndiciCall;

  constructor(call: UndiciCall) {
    this.#call = call;
  }

  get #isOver(): boolean {
    return !this.#call.isCurrent(this);
  }

  onRequestStart(controller: Controller): void {
    if (this.#isOver) controller.abort(unneeded());
    else this.#call.begin(controller);
  }

  onResponseStart(controller: Controller, status: number, _headers: object, statusText = ""): void {
    if (status >= 200 && !this.#isOver) this.#call.head(controller, status, statusText);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.#isOver) this.#call.data(controller, chunk);
  }

  onResponseEnd(controller: Controller): void {
    if (!this.#isOver) this.#call.end(flat(controller.rawTrailers));
  }

  onResponseError(_controller: Controller | undefined, error: Error): void {
    if (!this.#isOver) this.#call.broke(error);
  }
}

/** undici returns a flat list for HTTP/1.1; an object would be from HTTP/2. */
const flat = (raw: Controller["rawHeaders"]): RawHeaders => (Array.isArray(raw) ? raw : []);
