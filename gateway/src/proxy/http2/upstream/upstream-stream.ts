/** One request to an HTTP/2 upstream and its response: a stream of a connection. */
import { ByteView } from "../../sockets/byte-view.ts";
import { closedEarly, unreadable } from "../../upstream/failure.ts";
import type { BlockFacts, FramedStream } from "../connection/connection-frames.ts";
import { ReceiveWindow } from "../connection/receive-window.ts";
import type { SendScheduler } from "../connection/send-scheduler.ts";
import type { RequestParts } from "../fields.ts";
import { errorCode, type FrameErrorCode } from "../frames/frame-types.ts";
import { streamReset } from "./http2-failure.ts";
import { RequestWriter, type RequestWriterListener } from "./request-writer.ts";
import type { ResponseCollector } from "./response-collector.ts";

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

/** Receives the response. Views are valid only until the method that receives them returns. */
export interface UpstreamStreamListener {
  /** @param bytes Size of the head in HTTP/1.1 format */
  interim(head: UpstreamHead, bytes: number): void;
  head(head: UpstreamHead): void;
  data(view: ByteView): void;
  /** Called after all events of one read. Returns false when no more data may follow before `UpstreamStream.resume`. */
  flush(): boolean;
  /** Called when the response is complete; null: without trailers. The rest of an incomplete request is cancelled. */
  end(trailers: readonly string[] | null): void;
  /** Called when the response will not be completed. No further event follows. */
  failed(error: Error): void;
  /** Called when the upstream accepts more of the request, after `UpstreamStream.writer.isTaking` was false. */
  drained(): void;
}

/** The connection of a stream. */
export interface UpstreamStreamCarrier {
  readonly scheduler: SendScheduler;
  /** Allows the upstream to send this many more bytes on the stream. */
  widenStream(id: number, bytes: number): void;
  reset(id: number, code: FrameErrorCode): void;
  /** Called when both sides have ended the stream. */
  ended(id: number): void;
}

export interface UpstreamRequest {
  readonly parts: RequestParts;
  /** Whether the request has no body. */
  readonly ended: boolean;
  readonly listener: UpstreamStreamListener;
}

const OK = 200;
const SWITCHING_PROTOCOLS = 101;
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

export class UpstreamStream implements FramedStream, RequestWriterListener {
  readonly id: number;
  readonly writer: RequestWriter;
  /** Whether the upstream has declared that it did not process the request (RFC 9113 section 8.7). */
  isUnprocessed = false;
  readonly #carrier: UpstreamStreamCarrier;
  readonly #window = new ReceiveWindow();
  readonly #isHead: boolean;
  /** Null when the response is complete or will not be completed. */
  #listener: UpstreamStreamListener | null;
  #hasHead = false;
  /** Whether the method and the status permit a body. */
  #mayHaveBody = true;
  /** Whether the upstream has ended its side. */
  #hasEnded = false;
  #isClosed = false;
  #isPaused = false;
  /** Content-Length of a response with a body; -1: none. */
  #declared = -1;
  #received = 0;
  /** Pieces of the body that the listener does not accept yet: at most one window. */
  #held: Buffer[] = [];
  #trailers: readonly string[] | null = null;

  constructor(id: number, carrier: UpstreamStreamCarrier, { parts, listener }: UpstreamRequest) {
    this.id = id;
    this.#carrier = carrier;
    this.#listener = listener;
    this.#isHead = parts.method === "HEAD";
    this.writer = new RequestWriter(id, carrier.scheduler, this);
  }

  get isReceiving(): boolean {
    return !this.#hasEnded;
  }

  /** Whether the final head of the response has arrived. */
  get hasHead(): boolean {
    return this.#hasHead;
  }

  /** Continues the response after `flush` of the listener has returned false. */
  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && this.#listener !== null) {
      const piece = this.#held.shift();
      if (piece === undefined) break;
      this.#pass(ByteView.of(piece));
      this.flush();
    }
    this.#endIfPassed();
  }

  /** Ends the request and the response. The listener is not called any more. */
  cancel(): void {
    this.#listener = null;
    this.#held = [];
    if (!this.#isClosed) this.#carrier.reset(this.id, errorCode.cancel);
  }

  /** Ends the response with an error, if it is not complete. */
  fail(error: Error, isUnprocessed = false): void {
    const listener = this.#listener;
    this.#listener = null;
    this.#held = [];
    this.isUnprocessed = isUnprocessed;
    listener?.failed(error);
  }

  /** Receives a header block. Returns a clause about the response if it is malformed; null: it is valid. */
  block(collector: ResponseCollector, { ended }: BlockFacts): string | null {
    const { fault, status, headers } = collector;
    if (fault !== null) return fault;
    if (this.#hasHead) {
      if (!ended) return "fields follow its head";
      return this.#complete(headers);
    }
    if (status === 0) return "it has no status";
    if (status < OK) {
      if (ended || status === SWITCHING_PROTOCOLS) return `the status ${status} is not permitted here`;
      this.#listener?.interim({ status, headers, isBodiless: true, mayTrail: false }, collector.textSize);
      return null;
    }
    this.#hasHead = true;
    this.#mayHaveBody = !this.#isHead && status !== NO_CONTENT && status !== NOT_MODIFIED;
    if (this.#mayHaveBody) this.#declared = collector.contentLength;
    if (ended && this.#declared > 0) return SHORTER;
    this.#listener?.head({ status, headers, isBodiless: ended, mayTrail: !ended });
    return ended && !this.#isClosed ? this.#complete(null) : null;
  }

  takesFrame(length: number): boolean {
    return this.#window.takesFrame(length);
  }

  data(view: ByteView): void {
    this.#received += view.length;
    if (!this.#hasHead) this.#break("its body precedes its head");
    // An HTTP/1.1 client would read such a body as another response.
    else if (!this.#mayHaveBody) this.#break("it has a body, which its status or the method HEAD does not permit");
    else if (this.#declared >= 0 && this.#received > this.#declared) this.#break(LONGER);
    else if (this.#isPaused || this.#held.length > 0) view.keepIn(this.#held);
    else this.#pass(view);
  }

  consume(bytes: number): void {
    if (this.#hasEnded || this.#isClosed) return;
    const more = this.#window.consume(bytes);
    if (more > 0) this.#carrier.widenStream(this.id, more);
  }

  flush(): void {
    const listener = this.#listener;
    if (listener !== null && !this.#isPaused && !listener.flush()) this.#isPaused = true;
  }

  end(): void {
    if (!this.#hasHead) this.#break("its end precedes its head");
    else {
      const fault = this.#complete(null);
      if (fault !== null) this.#break(fault);
    }
  }

  /** Called when the upstream has reset the stream. */
  resetByPeer(code: number): void {
    // A server may end the rest of a request that it does not need (RFC 9113 section 8.1).
    if (!this.#hasEnded) this.fail(streamReset(code), code === errorCode.refusedStream);
  }

  close(): void {
    this.#isClosed = true;
    this.writer.close();
    if (!this.#hasEnded) this.fail(closedEarly());
  }

  drained(): void {
    this.#listener?.drained();
  }

  requestEnded(): void {
    this.#closeIfOver();
  }

  #pass(view: ByteView): void {
    this.#listener?.data(view);
    this.consume(view.length);
  }

  /** Called when the response has arrived completely. */
  #complete(trailers: readonly string[] | null): string | null {
    if (this.#declared >= 0 && this.#received < this.#declared) return SHORTER;
    this.#hasEnded = true;
    this.#trailers = trailers;
    this.#closeIfOver();
    this.#endIfPassed();
    return null;
  }

  #endIfPassed(): void {
    if (!this.#hasEnded || this.#held.length > 0) return;
    const listener = this.#listener;
    this.#listener = null;
    listener?.end(this.#trailers);
    if (!this.writer.isWritten) this.cancel();
  }

  #closeIfOver(): void {
    if (this.#hasEnded && this.writer.isWritten && !this.#isClosed) this.#carrier.ended(this.id);
  }

  #break(reason: string): void {
    this.fail(unreadable(reason));
    this.#carrier.reset(this.id, errorCode.protocolError);
  }
}

const SHORTER = "its body is shorter than its Content-Length";
const LONGER = "its body is longer than its Content-Length";
