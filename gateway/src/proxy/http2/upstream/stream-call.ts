/** One exchange with an HTTP/2 upstream: sends the request as a stream, and passes the response on. */
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import { isGrpc } from "../../exchange/protocols.ts";
import { withTargetHost } from "../../headers/upstream-headers.ts";
import type { Pipeline } from "../../pipeline.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import { InterimResponseLimit, tooManyInterims } from "../../upstream/failure.ts";
import { UpstreamCall, type UpstreamCallListener, type UpstreamCallOptions } from "../../upstream/upstream-call.ts";
import { fieldsOf, type RequestParts } from "../fields.ts";
import type { UpstreamSession } from "./upstream-session.ts";
import type { SessionWaiter, UpstreamSessions } from "./upstream-sessions.ts";
import type { UpstreamHead, UpstreamStream, UpstreamStreamListener } from "./upstream-stream.ts";

export interface StreamCallOptions extends UpstreamCallOptions<UpstreamCallListener<UpstreamHead, readonly string[]>> {
  readonly pipeline: Pipeline;
  readonly sessions: UpstreamSessions;
}

const CONTINUE = 100;

export class StreamCall
  extends UpstreamCall<StreamCallOptions["listener"]>
  implements SessionWaiter, UpstreamStreamListener
{
  readonly silence = new IdleTimer(() => this.silent());
  readonly stall = new IdleTimer(() => this.stalled());
  readonly #options: StreamCallOptions;
  /** True for gRPC. In such a call either side may be silent while the other sends: only silence of both is limited. */
  readonly #isConversation: boolean;
  #upstream: UpstreamSession | null = null;
  #stream: UpstreamStream | null = null;
  #giveUp: (() => void) | null = null;
  #interims: InterimResponseLimit | null = null;

  constructor(options: StreamCallOptions) {
    super(options);
    this.#options = options;
    this.#isConversation = isGrpc(options.exchange.request);
  }

  protected override open(target: UpstreamTarget): void {
    this.#stream = null;
    this.#upstream = null;
    const giveUp = this.#options.sessions.open(target, this);
    this.#giveUp = this.#upstream === null ? giveUp : null;
  }

  opened(upstream: UpstreamSession): void {
    this.#giveUp = null;
    this.#upstream = upstream;
    const { body } = this;
    const whole = body?.whole ?? null;
    this.isSending = body !== null && whole === null;
    const stream = upstream.request({
      parts: this.#head(this.target ?? upstream.target),
      ended: body === null || whole?.length === 0,
      listener: this,
    });
    this.#stream = stream;
    if (whole !== null && whole.length > 0) {
      stream.writer.data(ByteView.of(whole));
      stream.writer.end(null);
    }
    this.restartSilenceTimer();
    if (this.isSending) body?.forwardTo(this);
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
    return this.#stream?.isUnprocessed === true;
  }

  protected override get owesData(): boolean {
    return this.#isConversation || super.owesData;
  }

  protected override resumeReading(): void {
    this.#stream?.resume();
  }

  protected override cancel(): void {
    this.#giveUp?.();
    const stream = this.#stream;
    this.#stream = null;
    stream?.cancel();
  }

  protected override settle(): void {
    super.settle();
    this.silence.close();
    this.stall.close();
  }

  override silent(): void {
    super.silent();
    // The attempt was cancelled, and the connection itself may be dead.
    if (this.#stream === null) this.#upstream?.probe();
  }

  override writeBody(view: ByteView): void {
    if (this.#isConversation) this.restartSilenceTimer();
    this.#stream?.writer.data(view);
  }

  override flushBody(): boolean {
    if (this.#stream?.writer.isTaking !== false) return true;
    this.startStall();
    return false;
  }

  override endBody(trailers: string): void {
    this.isSending = false;
    const passed = this.exchange.forwardedTrailers(trailers);
    this.#stream?.writer.end(passed === "" ? null : fieldsOf(passed));
    if (!this.isOver) this.restartSilenceTimer();
  }

  interim(head: UpstreamHead, bytes: number): void {
    if (!this.isWaiting) return;
    this.#interims ??= new InterimResponseLimit();
    if (!this.#interims.allows(bytes)) this.fail(tooManyInterims());
    // The gateway sends 100 Continue itself.
    else if (head.status > CONTINUE) this.listener.interim(head);
  }

  head(head: UpstreamHead): void {
    this.restartSilenceTimer();
    if (this.beginResponse(head.status)) this.listener.head(head);
  }

  data(view: ByteView): void {
    if (this.isAnswered) this.listener.data(view);
  }

  flush(): boolean {
    if (!this.isAnswered) return true;
    this.restartSilenceTimer();
    this.isPaused = !this.listener.flush();
    return !this.isPaused;
  }

  end(trailers: readonly string[] | null): void {
    if (!this.isAnswered) return;
    this.settle();
    this.listener.end(trailers);
    this.listener.flush();
  }

  #head(target: UpstreamTarget): RequestParts {
    const { exchange } = this;
    const { method, path } = this.forward;
    const headers = withTargetHost(target, this.#options.pipeline.upstreamHeaders(exchange), exchange);
    return { method, scheme: target.scheme, path, headers };
  }
}
