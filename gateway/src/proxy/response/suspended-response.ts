/**
 * The response of an upstream on a route with a plugin that has the phase `response`. It is placed between the call and
 * the filters of the body, and passes no head or body on before the phase has ended. Until then nothing more is read
 * from the upstream, unless a plugin reads the body.
 */
import type { Socket } from "node:net";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { type ResponseHead, rawHeaderValues } from "../headers/raw-headers.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { gatewayErrorFor } from "../upstream/failure.ts";
import type { UpstreamCallListener } from "../upstream/upstream-call.ts";
import { FilteredResponse, type FilteredResponseTarget } from "./filtered-response.ts";
import type { GatewayResponse } from "./gateway-response.ts";
import { type HeldMessage, ResponseBrokenError, stepsThatHold } from "./response-phase.ts";

/** The exchange of the engine, which sends the response. */
export interface SuspendedResponseTarget<Head, Trailers> extends FilteredResponseTarget<Head, Trailers> {
  /**
   * Runs the phase. `onEnd` is called at its end with the response that replaces the held one, or null if none does.
   * `onEnd` is not called if the exchange has ended or been answered during the phase.
   */
  runResponsePhases(message: HeldMessage, onEnd: (own: GatewayResponse | null) => void): void;
  /** Cancels the call, and sends this response. */
  replaceBy(own: GatewayResponse): void;
}

/** The listener of a call on a route with plugins that act on its responses. */
export function pluginListener<Head extends ResponseHead, Trailers>(
  exchange: LiveExchange,
  target: SuspendedResponseTarget<Head, Trailers>,
): FilteredResponse<Head, Trailers> | SuspendedResponse<Head, Trailers> {
  const filtered = new FilteredResponse(exchange, target);
  return exchange.chain.holdingSteps === null ? filtered : new SuspendedResponse(exchange, target, filtered);
}

interface BodyReader {
  /** Maximum bytes to read. */
  readonly limit: number;
  /** Resolved when the body has ended or is longer than `limit`, or when no more of it will arrive. */
  readonly done: PromiseWithResolvers<void>;
}

export class SuspendedResponse<Head extends ResponseHead, Trailers> implements UpstreamCallListener<Head, Trailers> {
  readonly #exchange: LiveExchange;
  readonly #target: SuspendedResponseTarget<Head, Trailers>;
  readonly #next: FilteredResponse<Head, Trailers>;
  /** Null unless the response is held. */
  #held: Head | null = null;
  /** The bytes of the body that have arrived while the response is held. */
  #pieces: Buffer[] = [];
  #length = 0;
  #hasEnded = false;
  #trailers: Trailers | null = null;
  /** Set when the upstream has aborted the response. */
  #broken: Error | null = null;
  #isAborted = false;
  /** Null: no plugin waits for the body. */
  #reader: BodyReader | null = null;

  constructor(
    exchange: LiveExchange,
    target: SuspendedResponseTarget<Head, Trailers>,
    next: FilteredResponse<Head, Trailers>,
  ) {
    this.#exchange = exchange;
    this.#target = target;
    this.#next = next;
  }

  interim(head: Head): void {
    this.#next.interim(head);
  }

  upgraded(head: Head, socket: Socket, first: Buffer): void {
    this.#next.upgraded(head, socket, first);
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#next.failed(fault, error);
  }

  head(received: Head): void {
    if (stepsThatHold(this.#exchange).length === 0) {
      this.#exchange.chain = { ...this.#exchange.chain, holdingSteps: null };
      this.#next.head(received);
      return;
    }
    const head = this.#target.copyOf(received);
    this.#held = head;
    this.#exchange.source = "service";
    this.#exchange.timings.answered = performance.now();
    const read = (limit: number) => this.#read(head, limit);
    this.#target.runResponsePhases({ head, read }, (own) => this.#end(head, own));
  }

  data(view: ByteView): void {
    if (this.#held === null) this.#next.data(view);
    else {
      view.keepIn(this.#pieces);
      this.#length += view.length;
    }
  }

  end(trailers: Trailers | null): void {
    if (this.#held === null) this.#next.end(trailers);
    else {
      this.#hasEnded = true;
      this.#trailers = trailers && this.#target.copyOfTrailers(trailers);
      // The upstream has answered, so it does not need the rest of the client's body.
      this.#exchange.body?.drop();
      this.#wakeReader();
    }
  }

  flush(): boolean {
    if (this.#held === null) return this.#next.flush();
    if (this.#reader !== null && this.#length <= this.#reader.limit) return true;
    this.#wakeReader();
    return false;
  }

  broken(error: Error): void {
    if (this.#held === null) this.#next.broken(error);
    else {
      this.#broken = error;
      this.#wakeReader();
    }
  }

  aborted(): void {
    this.#isAborted = true;
    this.#pieces = [];
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#reader?.done.resolve();
    this.#reader = null;
  }

  async #read({ headers }: Head, limit: number): Promise<Buffer | null> {
    const [declared = 0] = rawHeaderValues(headers, "content-length");
    if (Number(declared) > limit) return null;
    for (;;) {
      if (this.#broken !== null) throw new ResponseBrokenError(this.#broken);
      if (this.#isAborted || this.#held === null) throw new Error("the body of the response can no longer be read");
      if (this.#length > limit) return null;
      if (this.#hasEnded) return Buffer.concat(this.#pieces);
      this.#reader ??= { limit, done: Promise.withResolvers() };
      const { promise } = this.#reader.done;
      // `resumeCall` may deliver the next bytes before it returns.
      this.#target.resumeCall();
      await promise;
    }
  }

  /** @param own The response that replaces the upstream's; null: no plugin replaced it */
  #end(head: Head, own: GatewayResponse | null): void {
    if (own !== null) this.#target.replaceBy(own);
    else if (this.#broken !== null) this.#target.failed(gatewayErrorFor(this.#broken), this.#broken);
    else this.#release(head);
  }

  /** Passes on the head and the parts of the body that have arrived, and continues the response. */
  #release(head: Head): void {
    const next = this.#next;
    this.#held = null;
    next.head(head);
    for (const piece of this.#pieces) next.data(ByteView.of(piece));
    this.#pieces = [];
    if (this.#hasEnded) next.end(this.#trailers);
    if (next.flush()) this.#target.resumeCall();
  }
}
