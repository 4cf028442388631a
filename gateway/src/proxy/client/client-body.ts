/**
 * The body of one request while the client sends it. Nothing is read from the client before a plugin or the upstream
 * asks for the body, and the body is read no faster than it is consumed: the connection reads only while `wanted` is
 * true, and is notified when `wanted` may have become true.
 */
import { ByteView } from "../sockets/byte-view.ts";

/**
 * The rest of the body will not arrive, because the client's connection or stream was closed, or the body is too long.
 */
export class BodyLostError extends Error {
  override readonly name = "BodyLostError";

  constructor() {
    super("the client disconnected before the end of its body");
  }
}

/** Consumer of a body. */
export interface BodySink {
  writeBody(view: ByteView): void;
  /**
   * Called after all pieces of one read. Returns false if no more pieces may be passed to `writeBody` before
   * `ClientBody.drained` has been called.
   */
  flushBody(): boolean;
  /** Called when the body is complete. Trailers are lines in wire format; "" when there are none. */
  endBody(trailers: string): void;
}

/** Receives a copy of what a sink receives. */
export interface BodyCopy {
  /** Called before the first piece for a sink, and again if another sink receives the body from its start. */
  begin(): void;
  write(view: ByteView): void;
  end(): void;
  /** Called when the rest of the body will not be forwarded. */
  lose(): void;
}

const NOTHING = Buffer.alloc(0);

/** The states of a body: not requested at the moment, read for a plugin, sent to the upstream, discarded. */
type Use = "held" | "gathered" | "forwarded" | "dropped";

export class ClientBody {
  readonly #declared: number | null;
  /** Called whenever `wanted` may have become true. */
  readonly #onWanted: () => void;
  #use: Use = "held";
  #ended = false;
  #lost = false;
  #blocked = false;
  #begun = false;
  #trailers = "";
  /** Pieces kept for a plugin, or for the next sink. */
  #seen: Buffer[] = [];
  #seenLength = 0;
  #limit = 0;
  /** Copies of the pieces that the sink received, for another sink; null: they are not kept. */
  #sent: Buffer[] | null = null;
  /** Bytes that may still be kept of those that the sink receives. */
  #room = 0;
  #maximumRoom = 0;
  #whole: Buffer | null = null;
  #sink: BodySink | null = null;
  #copies: BodyCopy[] | null = null;
  #reader: PromiseWithResolvers<void> | null = null;
  /** Bytes received from the client. */
  #received = 0;
  #maximum = Number.MAX_SAFE_INTEGER;
  #onTooLong: (() => void) | null = null;

  /** @param declared The value of Content-Length; null without this header */
  constructor(declared: number | null, onWanted: () => void) {
    this.#declared = declared;
    this.#onWanted = onWanted;
  }

  /** Bytes that will be forwarded; null when unknown before the end of the body. */
  get length(): number | null {
    return this.#whole === null ? this.#declared : this.#whole.length;
  }

  /** True once a byte that was not kept may have reached an upstream: from then on, no other target can be tried. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether more may be read from the client now. */
  get wanted(): boolean {
    return this.#use !== "held" && !this.#blocked;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The bytes that are forwarded instead of the stream; null: the body streams. */
  get whole(): Buffer | null {
    return this.#whole;
  }

  /**
   * Returns the complete body; null if it is longer than `limit` bytes. The body is still forwarded. Rejects with
   * BodyLostError if the client disconnects, or if the body exceeds the maximum that was set by `limit()`.
   */
  async read(limit: number): Promise<Buffer | null> {
    const arrived = this.arrived(limit);
    if (arrived !== undefined) return arrived;
    await this.#rest();
    return this.#within(limit);
  }

  /**
   * As `read`, for a body that arrives without waiting for the client: usually a small one, in the same read as the head.
   * Undefined: more is to arrive.
   */
  arrived(limit: number): Buffer | null | undefined {
    if (this.#whole === null) {
      // An earlier plugin with a lower limit may have read a part of the body already.
      if ((this.#declared ?? 0) > limit || this.#seenLength > limit) return null;
      if (this.#ended) this.#whole = this.#takeSeen();
      else if (this.#lost) return undefined;
      else this.#gather(limit);
      // A gathered body without a declared length may turn out to be longer.
      if (this.#whole === null) return this.#use === "held" ? null : undefined;
    }
    return this.#within(limit);
  }

  #within(limit: number): Buffer | null {
    return this.#whole !== null && this.#whole.length <= limit ? this.#whole : null;
  }

  /**
   * Sets the maximum length of the client's body. Returns false if the body is already known to be longer. Otherwise
   * `onTooLong` is called when more than `maximum` bytes arrive, and nothing is forwarded from then on. Of several
   * maximums only the lowest applies.
   */
  limit(maximum: number, onTooLong: () => void): boolean {
    if ((this.#declared ?? this.#received) > maximum) return false;
    if (maximum < this.#maximum) {
      this.#maximum = maximum;
      this.#onTooLong = onTooLong;
    }
    return true;
  }

  /**
   * Sets the bytes to forward instead of the client's body. The rest of the client's body is discarded. Throws if a
   * plugin gives something else, which could not be written.
   */
  replace(body: Buffer): void {
    if (!Buffer.isBuffer(body)) throw new TypeError("replaceBody needs a Buffer");
    this.#whole = body;
    this.#seen = [];
    this.drop();
  }

  /** Adds a receiver of what the sinks receive. To be called before `forwardTo`. */
  copyTo(copy: BodyCopy): void {
    this.#copies ??= [];
    this.#copies.push(copy);
  }

  /**
   * Streams to the sink from now on. Another sink is possible only while `begun` is false. The sink must flush the
   * pieces that it receives during this call.
   */
  forwardTo(given: BodySink): void {
    const sink = this.#copies === null ? given : new CopiedSink(given, this.#copies);
    this.#sink = sink;
    this.#use = "forwarded";
    const seen = this.#seen;
    this.#seen = [];
    for (const piece of seen) this.#give(ByteView.of(piece));
    if (this.#ended) sink.endBody(this.#trailers);
    else if (this.wanted) this.#onWanted();
  }

  /**
   * Keeps what sinks receive, so that another sink is possible after data was sent. Nothing is kept of a body that is
   * longer than `limit` bytes.
   */
  keepSent(limit: number): void {
    if (this.#begun || (this.length ?? 0) > limit) return;
    this.#sent = [];
    this.#room = limit;
    this.#maximumRoom = limit;
  }

  /**
   * Detaches a sink that failed while `begun` is false. The next sink receives what this one has received, and the pieces
   * that arrive from now on.
   */
  detachSink(): void {
    if (this.#use !== "forwarded") return;
    this.#use = "held";
    this.#sink = null;
    this.#blocked = false;
    if (this.#sent === null) return;
    this.#seen = this.#sent;
    this.#sent = [];
    this.#room = this.#maximumRoom;
  }

  /** Called when the sink accepts data again. */
  drained(): void {
    this.#blocked = false;
    if (!this.#ended) this.#onWanted();
  }

  /** Discards the rest of the body, so that the client can read its response. */
  drop(): void {
    this.#use = "dropped";
    this.#sink = null;
    this.#loseCopies();
    this.#blocked = false;
    if (!this.#ended) this.#onWanted();
  }

  write(view: ByteView): void {
    this.#received += view.length;
    if (this.#received > this.#maximum) this.#exceed();
    else if (this.#use === "forwarded") this.#give(view);
    else if (this.#use === "gathered") this.#keep(view);
    else if (this.#use !== "dropped") this.#push(view);
  }

  /** Called when all pieces of one read have been passed to `write`. */
  flush(): void {
    if (this.#sink?.flushBody() === false) this.#blocked = true;
  }

  end(trailers: string): void {
    this.#ended = true;
    this.#trailers = trailers;
    if (this.#use === "gathered") {
      this.#whole = this.#takeSeen();
      this.#reader?.resolve();
    }
    this.#sink?.endBody(trailers);
  }

  /** Called when the rest of the body will not arrive: the client has disconnected, or the body is too long. */
  lose(): void {
    this.#lost = true;
    this.#sink = null;
    this.#loseCopies();
    this.#reader?.reject(new BodyLostError());
  }

  #loseCopies(): void {
    if (this.#copies !== null) for (const copy of this.#copies) copy.lose();
  }

  #exceed(): void {
    const onTooLong = this.#onTooLong;
    if (onTooLong === null) return;
    this.#onTooLong = null;
    this.lose();
    onTooLong();
  }

  #give(view: ByteView): void {
    if (this.#sent === null) this.#begun = true;
    else this.#keepCopy(this.#sent, view);
    this.#sink?.writeBody(view);
  }

  #keepCopy(sent: Buffer[], view: ByteView): void {
    this.#room -= view.length;
    if (this.#room >= 0) view.keepIn(sent);
    else {
      this.#sent = null;
      this.#begun = true;
    }
  }

  #push(view: ByteView): void {
    view.keepIn(this.#seen);
    this.#seenLength += view.length;
  }

  #takeSeen(): Buffer {
    const [first = NOTHING, ...others] = this.#seen;
    const seen = others.length === 0 ? first : Buffer.concat(this.#seen);
    this.#seen = [];
    this.#seenLength = 0;
    return seen;
  }

  #keep(view: ByteView): void {
    this.#push(view);
    if (this.#seenLength <= this.#limit) return;
    this.#use = "held";
    this.#reader?.resolve();
  }

  #gather(limit: number): void {
    this.#limit = limit;
    this.#use = "gathered";
    this.#onWanted();
  }

  /** Resolves when the body is gathered, or longer than the limit of the reader. */
  #rest(): Promise<void> {
    this.#reader = Promise.withResolvers();
    const { promise } = this.#reader;
    if (this.#lost) this.lose();
    return promise;
  }
}

class CopiedSink implements BodySink {
  readonly #sink: BodySink;
  readonly #copies: readonly BodyCopy[];

  constructor(sink: BodySink, copies: readonly BodyCopy[]) {
    this.#sink = sink;
    this.#copies = copies;
    for (const copy of copies) copy.begin();
  }

  writeBody(view: ByteView): void {
    for (const copy of this.#copies) copy.write(view);
    this.#sink.writeBody(view);
  }

  flushBody(): boolean {
    return this.#sink.flushBody();
  }

  endBody(trailers: string): void {
    for (const copy of this.#copies) copy.end();
    this.#sink.endBody(trailers);
  }
}
