/**
 * The upstream side of one exchange: tries targets until one responds, forwards the client's body, and limits how long
 * the upstream may be silent. Subclasses speak a protocol.
 */
import type { BudgetedRequest } from "../../balance/retry-budget.ts";
import type { TargetAttempts } from "../../balance/target-attempts.ts";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { BodySink, ClientBody } from "../client/client-body.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import type { ByteView } from "../sockets/byte-view.ts";
import type { IdleTimer } from "../timers/idle-timer.ts";
import { AttemptLimits, type AttemptLimitsListener, KEPT_BODY } from "./attempt-limits.ts";
import {
  attemptTimeout,
  failureSignalOf,
  gatewayErrorFor,
  isUnreachable,
  mayRetry,
  readTimeout,
  requestTimeout,
  retriedStatus,
  writeTimeout,
} from "./failure.ts";

/** Receives the response. Heads, trailers and views are valid only until the method that receives them returns. */
export interface UpstreamCallListener<Head, Trailers> {
  interim(head: Head): void;
  head(head: Head): void;
  /** Bytes of the body. */
  data(view: ByteView): void;
  /** Null: no trailers. */
  end(trailers: Trailers | null): void;
  /** Called after all events of one read. Returns false when no more data may follow before `resume`. */
  flush(): boolean;
  /** Called when no response will arrive, because no attempt succeeded. */
  failed(fault: GatewayErrorName, error: Error | null): void;
  /** Called when the response broke off after its head. */
  broken(error: Error): void;
  /** Called when the call was cancelled before the end of the response: no further event follows. */
  aborted?(): void;
}

export interface UpstreamCallOptions<Listener> {
  readonly exchange: LiveExchange;
  readonly forward: ForwardPlan;
  readonly listener: Listener;
}

/** Timers of one attempt. */
export interface AttemptTimers {
  /** Runs while the upstream has to respond. */
  readonly silence: IdleTimer;
  /** Runs while the upstream does not accept data. */
  readonly stall: IdleTimer;
}

const WAITING = 0;
const ANSWERED = 1;
const OVER = 2;

export abstract class UpstreamCall<
  Listener extends Pick<UpstreamCallListener<never, never>, "failed" | "broken" | "aborted">,
> implements BodySink, AttemptLimitsListener
{
  protected readonly exchange: LiveExchange;
  protected readonly forward: ForwardPlan;
  protected readonly listener: Listener;
  protected readonly body: ClientBody | null;
  /** Target of the current attempt. */
  protected target: UpstreamTarget | null = null;
  /** Whether the client is still sending its body. */
  protected isSending = false;
  protected isPaused = false;
  /**
   * Set after a reused idle connection turned out to be closed: other idle connections may be as old, so the retry
   * opens a new connection.
   */
  protected wantsFresh = false;
  readonly #attempts: TargetAttempts<UpstreamTarget>;
  /** Null: the service has no attempt policy. */
  readonly #limits: AttemptLimits | null;
  /** Null: the service has no retry budget. */
  readonly #budgeted: BudgetedRequest | null;
  #triesLeft: number;
  #state = WAITING;

  constructor({ exchange, forward, listener }: UpstreamCallOptions<Listener>) {
    this.exchange = exchange;
    this.forward = forward;
    this.listener = listener;
    this.body = exchange.body;
    this.#attempts = forward.upstream.attempts(exchange);
    this.#triesLeft = forward.upstream.service.retries;
    const { policy, retryBudget } = forward.upstream;
    this.#budgeted = retryBudget === null ? null : retryBudget.begin();
    this.#limits = policy === null ? null : new AttemptLimits(policy, exchange.timings.started, this);
    if (policy?.retry) this.body?.keepSent(KEPT_BODY);
  }

  /** Begins an attempt. */
  protected abstract open(target: UpstreamTarget): void;
  /** Ends the attempt: its connection or stream is reset, and causes no further events. */
  protected abstract cancel(): void;
  protected abstract resumeReading(): void;
  /** The connection that carries the current attempt; null: none yet. */
  protected abstract get carrier(): { readonly isFresh: boolean } | null;
  protected abstract get timers(): AttemptTimers | null;

  abstract writeBody(view: ByteView): void;
  abstract flushBody(): boolean;
  abstract endBody(trailers: string): void;

  start(): void {
    const target = this.#attempts.next();
    this.exchange.beginTry(target, this.forward);
    this.target = target;
    if (target === null) {
      this.settle();
      this.listener.failed("noPeer", null);
      return;
    }
    this.#limits?.beginAttempt();
    this.open(target);
  }

  /** Continues the response after `flush` of the listener has returned false. */
  resume(): void {
    if (!this.isPaused || this.isOver) return;
    this.isPaused = false;
    this.restartSilenceTimer();
    this.resumeReading();
  }

  /** Cancels the request to the upstream, because its response is no longer wanted. */
  abort(): void {
    if (this.isOver) return;
    this.settle();
    this.cancel();
    this.listener.aborted?.();
  }

  /** Called when the upstream accepts data again. */
  drained(): void {
    this.timers?.stall.stop();
    if (this.isSending) this.body?.drained();
  }

  /** Called when `timers.silence` expires. Silence is not an error while the client still sends, or does not read. */
  silent(): void {
    if (this.isPaused || !this.owesData) this.restartSilenceTimer();
    else this.fail(readTimeout(this.forward.upstream.service));
  }

  /** Called when `timers.stall` expires. */
  stalled(): void {
    this.fail(writeTimeout(this.forward.upstream.service));
  }

  attemptExpired(): void {
    this.fail(attemptTimeout());
  }

  requestExpired(): void {
    if (this.isOver) return;
    const error = requestTimeout();
    this.#triesLeft = 0;
    if (!this.#limits?.isPausing) this.fail(error);
    else {
      this.settle();
      this.listener.failed(gatewayErrorFor(error), error);
    }
  }

  /** Called when the tunnel that the call became has ended: until then it counts as a connection of its target. */
  tunnelEnded(): void {
    this.#attempts.endTry();
  }

  protected get isWaiting(): boolean {
    return this.#state === WAITING;
  }

  protected get isAnswered(): boolean {
    return this.#state === ANSWERED;
  }

  protected get isOver(): boolean {
    return this.#state === OVER;
  }

  /** Whether the upstream must send data now. */
  protected get owesData(): boolean {
    return this.#state === ANSWERED || !this.isSending;
  }

  /** Whether the upstream declared that it did not process the request. */
  protected get isUnprocessed(): boolean {
    return false;
  }

  /**
   * Called when the final response begins. Returns false if the response is discarded, because the request is sent again:
   * the attempt has been cancelled.
   */
  protected beginResponse(status: number): boolean {
    this.#attempts.recordResponse(status, this.target);
    if (this.#limits !== null && this.#isRepeated(status, this.#limits)) return false;
    this.#state = ANSWERED;
    return true;
  }

  /** Restarts the read timeout, because data was received or written. */
  protected restartSilenceTimer(now?: number): void {
    this.timers?.silence.start(this.forward.upstream.service.read_timeout, now);
  }

  /** Called when the upstream accepts no more data for now. */
  protected startStall(): void {
    this.timers?.stall.start(this.forward.upstream.service.write_timeout);
  }

  /** Called when the response is complete, or none will come. */
  protected settle(): void {
    this.#state = OVER;
    this.#attempts.endTry();
    this.#limits?.close();
    this.#budgeted?.end();
  }

  /** Called when the connection becomes a tunnel; `tunnelEnded` is called at its end. */
  protected handOver(): void {
    this.#state = OVER;
    this.#limits?.close();
    this.#budgeted?.end();
  }

  /** Ends the attempt with an error. */
  protected fail(error: Error): void {
    this.failed(error);
    this.cancel();
  }

  /** Called when the attempt has failed. Retries if possible. */
  failed(error: Error): void {
    if (this.isOver) return;
    const isAnswered = this.#state === ANSWERED;
    if (!isAnswered && this.#retries(error)) return;
    this.settle();
    if (isAnswered) this.listener.broken(error);
    else this.listener.failed(gatewayErrorFor(error), error);
  }

  #retries(error: Error): boolean {
    const { forward, body, carrier } = this;
    this.#recordFailure(error);
    const connected = carrier !== null;
    const fresh = carrier?.isFresh ?? true;
    const signal = failureSignalOf({ error, connected, fresh });
    if (signal !== null) this.#attempts.failed(signal);
    if (isUnreachable({ error, connected })) this.#attempts.unreachable(this.target);
    if (this.#triesLeft <= 0) return false;
    const pause = this.#nextPause();
    const failedTry = {
      error,
      connected: connected && !this.isUnprocessed,
      method: forward.method,
      bodyBegun: body?.begun ?? false,
      hasOtherTarget: this.#attempts.hasOtherTarget,
      repeatsTimeouts: (this.#limits?.policy.retry ?? null) !== null,
    };
    // The upstream has done no work for these attempts, so the budget does not limit their repetition. A reused connection
    // that breaks was probably closed while it was idle; if a second one breaks, the upstream may be failing.
    const isFree = this.isUnprocessed || (connected && !fresh && signal === null && !this.wantsFresh);
    if (pause === null || !mayRetry(failedTry) || !(isFree || this.#isInBudget)) return false;
    this.wantsFresh = connected && !fresh;
    this.#tryAgain(pause);
    return true;
  }

  /** Discards the response and sends the request again, if the service wants this for the status and it is possible. */
  #isRepeated(status: number, { policy: { retry } }: AttemptLimits): boolean {
    if (retry === null || !retry.codes.has(status) || this.#triesLeft <= 0 || this.body?.begun) return false;
    const pause = this.#nextPause();
    if (pause === null || !this.#isInBudget) return false;
    this.#recordFailure(retriedStatus(status));
    this.wantsFresh = false;
    this.#tryAgain(pause);
    this.cancel();
    return true;
  }

  get #isInBudget(): boolean {
    if (this.#budgeted === null || this.#budgeted.mayRetry()) return true;
    this.exchange.observer?.retried?.(this.exchange, false);
    return false;
  }

  #recordFailure(error: Error): void {
    const { exchange } = this;
    exchange.observer?.failed?.(exchange, error);
    exchange.failTry(error);
  }

  /** Milliseconds before the next attempt; null: the request would take too long. */
  #nextPause(): number | null {
    const backoff = this.#limits?.policy.retry?.backoff;
    return backoff === undefined ? 0 : (this.#limits?.nextPause(backoff) ?? null);
  }

  #tryAgain(pause: number): void {
    this.#triesLeft--;
    this.exchange.observer?.retried?.(this.exchange, true);
    this.body?.detachSink();
    this.timers?.silence.stop();
    this.timers?.stall.stop();
    this.isPaused = false;
    const start = () => {
      if (this.isWaiting) this.start();
    };
    if (this.#limits === null) setImmediate(start);
    else this.#limits.pause(pause, start);
  }
}
