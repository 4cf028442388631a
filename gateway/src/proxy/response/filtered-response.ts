/**
 * The response of an upstream on a route with body filters. Only on such a route is it placed between the call and the
 * exchange of the engine, so that filters cost no time on other routes. The head is held while a filter buffers the
 * body.
 */
import type { Socket } from "node:net";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { grpcStatusOf } from "../exchange/protocols.ts";
import type { ResponseHead } from "../headers/raw-headers.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { gatewayErrorFor } from "../upstream/failure.ts";
import type { UpstreamCallListener } from "../upstream/upstream-call.ts";
import { BodyFilters } from "./body-filters.ts";
import { ResponseTransform, type ResponseTransformListener } from "./response-transform.ts";

/** The exchange of the engine, which sends the response. */
export interface FilteredResponseTarget<Head, Trailers>
  extends Omit<UpstreamCallListener<Head, Trailers>, "head" | "interim"> {
  interim?(head: Head): void;
  upgraded?(head: Head, socket: Socket, first: Buffer): void;
  /** Runs the phase `responseHeaders`. Returns false if another response has been sent instead. */
  respond(head: Head): boolean;
  /** A copy of a head that stays valid when the memory of the head is used again. */
  copyOf(head: Head): Head;
  /** A copy of trailers that stays valid when their memory is used again. */
  copyOfTrailers(trailers: Trailers): Trailers;
  /** Continues the response after `flush` has returned false, and its transformation. */
  resumeCall(): void;
  /** Receives the transformation of the body, which must be destroyed if the response is broken off. */
  transformBy(transform: ResponseTransform): void;
  /** The forwarded trailers as a flat list. */
  fieldsOf(trailers: Trailers): readonly string[];
  /** @param framing How a filtered body is delimited; absent: as the upstream delimited it */
  sendHead(head: Head, framing?: BodyFraming): void;
  /** Called when a plugin failed or replaced the response, or the body is longer than a filter may buffer. */
  filterFailed(error: unknown): void;
}

/** `sized`: with a Content-Length. `unsized`: the length is not known when the head is sent. */
export type BodyFraming = "sized" | "unsized";

export class FilteredResponse<Head extends ResponseHead, Trailers>
  implements UpstreamCallListener<Head, Trailers>, ResponseTransformListener
{
  readonly #exchange: LiveExchange;
  readonly #target: FilteredResponseTarget<Head, Trailers>;
  /** Null: the body of this response is not filtered. */
  #filters: BodyFilters | null = null;
  /** Filters whose observers run while the body is sent unchanged. Null: `#filters` is set, or there are no filters. */
  #observing: BodyFilters | null = null;
  /** The head of a response that is only observed, while its memory is not used again. Null: it is copied or over. */
  #observed: Head | null = null;
  /** Null while no head is held. */
  #held: Head | null = null;
  /** Null: the body passes through no streams, or the head is held. */
  #transform: ResponseTransform | null = null;
  /** Trailers that follow the transformed body. */
  #trailers: Trailers | null = null;
  /** Set when another response has been sent instead. */
  #isReplaced = false;

  constructor(exchange: LiveExchange, target: FilteredResponseTarget<Head, Trailers>) {
    this.#exchange = exchange;
    this.#target = target;
  }

  interim(head: Head): void {
    this.#target.interim?.(head);
  }

  upgraded(head: Head, socket: Socket, first: Buffer): void {
    this.#target.upgraded?.(head, socket, first);
  }

  head(received: Head): void {
    const exchange = this.#exchange;
    const target = this.#target;
    exchange.saveResponseEdits();
    if (!target.respond(received)) {
      this.#isReplaced = true;
      return;
    }
    exchange.responseHead = received;
    if (exchange.convertsGrpc) exchange.grpcStatus = grpcStatusOf(received.headers);
    const filters = this.#guarded(() => BodyFilters.open(exchange, received));
    if (this.#isReplaced) return;
    if (filters === null) {
      exchange.responseHead = null;
      this.#sendHead(received);
      return;
    }
    if (exchange.request.method === "HEAD" || !(filters.changesBody || filters.hasTransforms)) {
      if (filters.changesBody) exchange.responseHeaders.remove("Content-Length");
      this.#observing = filters;
      // Copied only if the end of the response is not in the same read.
      this.#observed = received;
      this.#sendHead(received);
    } else {
      const head = target.copyOf(received);
      exchange.responseHead = head;
      this.#filters = filters;
      this.#held = head;
      if (!filters.isHolding) this.#release(null);
    }
  }

  data(view: ByteView): void {
    const filters = this.#filters;
    if (this.#isReplaced) return;
    if (filters === null) {
      const observing = this.#observing;
      if (observing !== null) this.#observe(observing, view);
      if (!this.#isReplaced) this.#target.data(view);
      return;
    }
    const pieces = this.#guarded(() => filters.filter(view.keep()));
    if (pieces === null) return;
    if (!filters.isHolding) this.#release(null);
    this.#send(pieces);
  }

  end(trailers: Trailers | null): void {
    const filters = this.#filters;
    if (this.#isReplaced) return;
    if (this.#observing !== null) {
      this.#complete(this.#observing);
      if (this.#isReplaced) return;
    }
    if (filters !== null) {
      const fields = trailers === null ? [] : this.#target.fieldsOf(trailers);
      if (this.#exchange.convertsGrpc) this.#exchange.grpcStatus = grpcStatusOf(fields) ?? this.#exchange.grpcStatus;
      const pieces = this.#guarded(() => filters.end(fields));
      if (pieces === null) return;
      const sendsTrailers = trailers !== null && this.#exchange.request.takesTrailers;
      // Over HTTP/1.1 trailers need the chunked coding.
      this.#release(sendsTrailers ? null : pieces.reduce((length, piece) => length + piece.length, 0));
      this.#send(pieces);
      if (this.#transform !== null) {
        this.#trailers = trailers && this.#target.copyOfTrailers(trailers);
        // The upstream has answered, so it does not need the rest of the client's body.
        this.#exchange.body?.drop();
        this.#transform.end();
        return;
      }
      if (this.#isReplaced) return;
    }
    this.#target.end(trailers);
  }

  transformed(view: ByteView): boolean {
    this.#target.data(view);
    return this.#target.flush();
  }

  transformDrained(): void {
    this.#target.resumeCall();
  }

  transformEnded(): void {
    this.#target.end(this.#trailers);
    this.#target.flush();
  }

  transformFailed(error: Error): void {
    this.#isReplaced = true;
    this.#target.filterFailed(error);
  }

  flush(): boolean {
    if (this.#observed !== null) {
      this.#exchange.responseHead = this.#target.copyOf(this.#observed);
      this.#observed = null;
    }
    return this.#isReplaced || (this.#target.flush() && this.#transform?.isFull !== true);
  }

  failed(fault: GatewayErrorName, error: Error | null): void {
    this.#target.failed(fault, error);
  }

  broken(error: Error): void {
    if (this.#observed !== null) {
      this.#observed = null;
      this.#exchange.responseHead = null;
    }
    if (this.#held === null) this.#target.broken(error);
    else {
      this.#isReplaced = true;
      this.#target.failed(gatewayErrorFor(error), error);
    }
  }

  #observe(filters: BodyFilters, view: ByteView): void {
    try {
      filters.observe(view.keep());
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the observation: afterwards the memory of the head is used again. */
  #complete(filters: BodyFilters): void {
    try {
      filters.complete();
    } catch (error) {
      this.#fail(error);
    }
    this.#observed = null;
    this.#exchange.responseHead = null;
  }

  /** Sends the head, if it is still held. `length` is the length of the body; null: not known, or trailers follow. */
  #release(length: number | null): void {
    const head = this.#held;
    if (head === null) return;
    this.#held = null;
    const { responseHeaders } = this.#exchange;
    const filters = this.#filters;
    if (filters?.hasTransforms) {
      const streams = this.#guarded(() => filters.openTransforms());
      if (streams === null) return;
      this.#transform = new ResponseTransform(streams, this);
      this.#target.transformBy(this.#transform);
      responseHeaders.remove("Content-Length");
      this.#sendHead(head, "unsized");
      return;
    }
    if (length === null) responseHeaders.remove("Content-Length");
    else responseHeaders.set("Content-Length", String(length));
    this.#sendHead(head, length === null ? "unsized" : "sized");
  }

  #sendHead(...given: Parameters<FilteredResponseTarget<Head, Trailers>["sendHead"]>): void {
    this.#exchange.responseBegan = performance.now();
    this.#target.sendHead(...given);
  }

  #send(pieces: readonly Buffer[]): void {
    if (this.#isReplaced) return;
    for (const piece of pieces) {
      if (this.#transform !== null) this.#transform.write(piece);
      else this.#target.data(ByteView.of(piece));
    }
  }

  /** Runs code of plugins and returns its result. If the code throws, returns null, and another response is sent. */
  #guarded<Result>(run: () => Result): Result | null {
    try {
      return run();
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  #fail(error: unknown): void {
    this.#isReplaced = true;
    this.#observed = null;
    this.#target.filterFailed(error);
  }
}
