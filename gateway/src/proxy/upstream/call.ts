/** One request to an upstream over undici: tries targets until one answers, then passes the response on as it comes. */
import type { Dispatcher } from "undici";
import type { RawHeaders } from "../client-headers.ts";
import type { FaultName } from "../faults.ts";
import type { LiveExchange } from "../live-exchange.ts";
import type { Forward } from "../pipeline.ts";
import { faultOf, mayRetry } from "./failure.ts";
import type { Pools } from "./pools.ts";

/** Who gets the response. */
export interface CallListener {
  head(status: number, headers: RawHeaders, statusText: string): void;
  /** False: no more until `resume` is called. */
  data(chunk: Buffer): boolean;
  end(trailers: RawHeaders): void;
  /** No response will come. */
  failed(fault: FaultName, error: Error | null): void;
  /** The response broke off after its head. */
  broken(error: Error): void;
}

export interface CallOptions {
  readonly exchange: LiveExchange;
  readonly forward: Forward;
  readonly pools: Pools;
  readonly listener: CallListener;
}

type Controller = Dispatcher.DispatchController;

export class UpstreamCall implements Dispatcher.DispatchHandler {
  readonly #exchange: LiveExchange;
  readonly #forward: Forward;
  readonly #pools: Pools;
  readonly #listener: CallListener;
  #controller: Controller | null = null;
  #triesLeft: number;
  #state: "waiting" | "answered" | "over" = "waiting";

  constructor({ exchange, forward, pools, listener }: CallOptions) {
    this.#exchange = exchange;
    this.#forward = forward;
    this.#pools = pools;
    this.#listener = listener;
    this.#triesLeft = forward.upstream.service.retries;
  }

  start(): void {
    const { upstream, method, path, headers } = this.#forward;
    const target = upstream.next();
    this.#exchange.timings.forwarded = performance.now();
    if (target === null) {
      this.#state = "over";
      this.#listener.failed("noPeer", null);
      return;
    }
    const { service } = upstream;
    this.#controller = null;
    const request: Dispatcher.DispatchOptions & { servername?: string } = {
      method,
      path,
      headers: headers as string[],
      body: this.#exchange.body?.open(service.write_timeout) ?? null,
      headersTimeout: service.read_timeout,
      bodyTimeout: service.read_timeout,
    };
    // Else undici takes the server name from the Host header, which with preserve_host is the client's word.
    if (target.serverName !== null) request.servername = target.serverName;
    this.#pools.of(target).dispatch(request, this);
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** The client is gone: the upstream's connection is closed with it. */
  abort(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#controller?.abort(new Error("the client went away"));
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#state === "over") controller.abort(new Error("the client went away"));
  }

  onResponseStart(controller: Controller, status: number, _headers: object, statusText = ""): void {
    if (status < 200 || this.#state === "over") return;
    this.#state = "answered";
    this.#listener.head(status, flat(controller.rawHeaders), statusText);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#state === "over") return;
    if (!this.#listener.data(chunk)) controller.pause();
  }

  onResponseEnd(controller: Controller): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#listener.end(flat(controller.rawTrailers));
  }

  onResponseError(_controller: Controller | undefined, error: Error): void {
    if (this.#state === "over") return;
    if (this.#state === "waiting" && this.#retries(error)) return;
    const answered = this.#state === "answered";
    this.#state = "over";
    if (answered) this.#listener.broken(error);
    else this.#listener.failed(faultOf(error), error);
  }

  #retries(error: Error): boolean {
    const failed = {
      error,
      connected: this.#controller !== null,
      method: this.#forward.method,
      bodyBegun: this.#exchange.body?.begun ?? false,
    };
    if (this.#triesLeft <= 0 || !mayRetry(failed)) return false;
    this.#triesLeft--;
    setImmediate(() => {
      if (this.#state === "waiting") this.start();
    });
    return true;
  }
}

/** Over HTTP/1.1 undici gives a flat list; an object would be HTTP/2's. */
const flat = (raw: Controller["rawHeaders"]): RawHeaders => (Array.isArray(raw) ? raw : []);
