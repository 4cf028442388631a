/** One request to an upstream over undici: tries targets until one responds, and forwards the response. */
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { TargetAttempts } from "../../balance/target-attempts.ts";
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ForwardPlan, LiveExchange } from "../exchange/live-exchange.ts";
import type { RawHeaders } from "../headers/client-headers.ts";
import { withTargetHost } from "../headers/upstream-headers.ts";
import {
  errorCodeOf,
  failureSignalOf,
  gatewayErrorFor,
  isUnreachable,
  mayRetry,
  unreadable,
} from "../upstream/failure.ts";
import { malformedResponseReason } from "./malformed-head.ts";
import { StreamedBody } from "./streamed-body.ts";
import type { UndiciPools } from "./undici-pools.ts";

/** Receives the response. */
export interface UndiciCallListener {
  head(status: number, headers: RawHeaders, statusText: string): void;
  /** Returns false when no more data may follow before `resume`. */
  data(chunk: Buffer): boolean;
  end(trailers: RawHeaders): void;
  /** No response will come. */
  failed(fault: GatewayErrorName, error: Error | null): void;
  /** The response broke off after its head. */
  broken(error: Error): void;
}

export interface UndiciCallOptions {
  readonly exchange: LiveExchange;
  readonly forward: ForwardPlan;
  /** Flat list; called for every attempt. */
  readonly headers: () => readonly string[];
  readonly pools: UndiciPools;
  readonly listener: UndiciCallListener;
}

type Controller = Dispatcher.DispatchController;

class ReadTimeoutError extends Error {
  override readonly name = "ReadTimeoutError";
  readonly code = "SLUICE_READ_TIMEOUT";
}

export class UndiciCall implements Dispatcher.DispatchHandler {
  readonly #exchange: LiveExchange;
  readonly #forward: ForwardPlan;
  readonly #headers: UndiciCallOptions["headers"];
  readonly #pools: UndiciPools;
  readonly #listener: UndiciCallListener;
  readonly #attempts: TargetAttempts<UpstreamTarget>;
  #controller: Controller | null = null;
  #target: UpstreamTarget | null = null;
  #body: Buffer | Readable | null = null;
  /** Runs while the upstream has to respond. undici's own timers may be a second late. */
  #silence: NodeJS.Timeout | undefined;
  #paused = false;
  #status = 0;
  #triesLeft: number;
  #state: "waiting" | "answered" | "over" = "waiting";

  constructor({ exchange, forward, headers, pools, listener }: UndiciCallOptions) {
    this.#exchange = exchange;
    this.#forward = forward;
    this.#headers = headers;
    this.#pools = pools;
    this.#listener = listener;
    this.#attempts = forward.upstream.attempts(exchange);
    this.#triesLeft = forward.upstream.service.retries;
  }

  start(): void {
    const { method, path } = this.#forward;
    const target = this.#attempts.next();
    this.#exchange.beginTry(target, this.#forward);
    if (target === null) {
      this.#end();
      this.#listener.failed("noPeer", null);
      return;
    }
    this.#controller = null;
    this.#target = target;
    this.#openBody();
    const request: Dispatcher.DispatchOptions & { servername?: string } = {
      method,
      path,
      headers: withTargetHost(target, this.#headers(), this.#exchange) as string[],
      body: this.#body,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    // Otherwise undici derives the SNI from the Host header, which the client controls with preserve_host. An address
    // is not a valid SNI; it only keeps undici from keying connections by that header.
    const serverName = target.serverName ?? (target.scheme === "https" ? target.host : null);
    if (serverName !== null) request.servername = serverName;
    this.#pools.of(target).dispatch(request, this);
  }

  #openBody(): void {
    const { body } = this.#exchange;
    if (!(body instanceof StreamedBody)) return;
    const before = this.#body;
    this.#body = body.open(this.#forward.upstream.service.write_timeout);
    if (this.#body !== before && this.#body instanceof Readable) {
      this.#body.once("end", () => this.#silence?.refresh());
    }
  }

  resume(): void {
    this.#paused = false;
    this.#silence?.refresh();
    this.#controller?.resume();
  }

  /** The client disconnected: the upstream's connection is closed too. */
  abort(): void {
    if (this.#state === "over") return;
    this.#end();
    this.#controller?.abort(new Error("the client went away"));
  }

  #end(): void {
    this.#state = "over";
    this.#attempts.endTry();
    clearTimeout(this.#silence);
    this.#silence = undefined;
    const { body } = this.#exchange;
    if (body instanceof StreamedBody) body.drop();
  }

  /** While the client still sends, or does not read, the upstream's silence is not an error. */
  #silent(): void {
    const sending = this.#state === "waiting" && this.#body instanceof Readable && !this.#body.readableEnded;
    if (sending || this.#paused) return;
    this.#controller?.abort(new ReadTimeoutError("the upstream sent nothing for read_timeout"));
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#state === "over") controller.abort(new Error("the client went away"));
    else this.#silence = setTimeout(() => this.#silent(), this.#forward.upstream.service.read_timeout);
  }

  onResponseStart(controller: Controller, status: number, _headers: object, statusText = ""): void {
    if (status < 200 || this.#state === "over") return;
    const headers = flat(controller.rawHeaders);
    const fault = malformedResponseReason(headers, statusText);
    if (fault !== null) {
      controller.abort(unreadable(fault));
      return;
    }
    this.#state = "answered";
    this.#status = status;
    this.#silence?.refresh();
    this.#attempts.answered(status, this.#target);
    this.#listener.head(status, headers, statusText);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#state === "over") return;
    this.#silence?.refresh();
    if (this.#listener.data(chunk)) return;
    this.#paused = true;
    controller.pause();
  }

  onResponseEnd(controller: Controller): void {
    if (this.#state === "over") return;
    this.#end();
    this.#listener.end(flat(controller.rawTrailers));
  }

  onResponseError(_controller: Controller | undefined, error: Error): void {
    if (this.#state === "over") return;
    clearTimeout(this.#silence);
    if (this.#state === "waiting") {
      this.#tellFailure(error);
      if (this.#retries(error)) return;
    }
    const answered = this.#state === "answered";
    this.#end();
    if (answered && this.#hasNoBody(error)) this.#listener.end([]);
    else if (answered) this.#listener.broken(error);
    else this.#listener.failed(gatewayErrorFor(error), error);
  }

  /** undici reports missing bytes of a Content-Length also for responses without a body (RFC 9110 section 8.6). */
  #hasNoBody(error: Error): boolean {
    return (
      (this.#status === 204 || this.#status === 304) && errorCodeOf(error) === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"
    );
  }

  #tellFailure(error: Error): void {
    const { forwarded = 0 } = this.#exchange.timings;
    const fresh = this.#target !== null && this.#pools.hasConnectedSince(this.#target, forwarded);
    const connected = this.#controller !== null;
    const sign = failureSignalOf({ error, connected, fresh });
    if (sign !== null) this.#attempts.failed(sign);
    if (isUnreachable({ error, connected })) this.#attempts.unreachable(this.#target);
    this.#exchange.observer?.failed?.(this.#exchange, error);
  }

  #retries(error: Error): boolean {
    const failed = {
      error,
      connected: this.#controller !== null,
      method: this.#forward.method,
      bodyBegun: this.#exchange.body?.begun ?? false,
      hasOtherTarget: this.#attempts.hasOtherTarget,
    };
    if (this.#triesLeft <= 0 || !mayRetry(failed)) return false;
    this.#triesLeft--;
    setImmediate(() => {
      if (this.#state === "waiting") this.start();
    });
    return true;
  }
}

/** undici returns a flat list for HTTP/1.1; an object would be from HTTP/2. */
const flat = (raw: Controller["rawHeaders"]): RawHeaders => (Array.isArray(raw) ? raw : []);
