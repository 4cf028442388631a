/**
 * The body of one request while its client sends it. Nothing is read from the client before somebody wants it, and no
 * faster than it is taken: the connection asks `wanted` and is told when that changes.
 */
import { BodyLostError, type RequestBody } from "../exchange/request-body.ts";
import type { Slab } from "./slab.ts";

/** Where the body goes. */
export interface BodySink {
  /** @param slab Where the piece lies, which holds during the call and as long as the slab is held; null: it lasts. */
  take(piece: Buffer, slab: Slab | null): void;
  /** Everything that came at once has been given. False: no more until `ClientBody.drained`. */
  send(): boolean;
  /** All has come. Trailers are lines as they go on the wire; "" when there are none. */
  finish(trailers: string): void;
}

/** Nobody has asked, a plugin reads it, the upstream gets it, nobody will. */
type Use = "held" | "gathered" | "forwarded" | "dropped";

export class ClientBody implements RequestBody {
  readonly #declared: number | null;
  /** Told whenever `wanted` may have become true. */
  readonly #onWanted: () => void;
  #use: Use = "held";
  #ended = false;
  #lost = false;
  #blocked = false;
  #begun = false;
  #trailers = "";
  /** What a plugin has read. */
  #seen: Buffer[] = [];
  #seenLength = 0;
  #limit = 0;
  #whole: Buffer | null = null;
  #sink: BodySink | null = null;
  #reader: PromiseWithResolvers<void> | null = null;

  /** @param declared Bytes by Content-Length; null when the body is chunked. */
  constructor(declared: number | null, onWanted: () => void) {
    this.#declared = declared;
    this.#onWanted = onWanted;
  }

  get length(): number | null {
    return this.#whole === null ? this.#declared : this.#whole.length;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Whether more may be taken from the client now. */
  get wanted(): boolean {
    return this.#use !== "held" && !this.#blocked;
  }

  /** Whether anybody has begun to read: then a client that waits for 100 has to be told. */
  get isRead(): boolean {
    return this.#use !== "held";
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The bytes that are forwarded instead of what streams; null: it streams. */
  get whole(): Buffer | null {
    return this.#whole;
  }

  async read(limit: number): Promise<Buffer | null> {
    if (this.#whole === null) {
      if ((this.#declared ?? 0) > limit || this.#seen.length > 0) return null;
      await this.#gather(limit);
    }
    return this.#whole !== null && this.#whole.length <= limit ? this.#whole : null;
  }

  replace(body: Buffer): void {
    this.#whole = body;
    this.#seen = [];
    this.drop();
  }

  /**
   * Streams to the sink from now on; to another one only as long as `begun` is false. The sink has yet to send what it is
   * given now.
   */
  forwardTo(sink: BodySink): void {
    this.#sink = sink;
    this.#use = "forwarded";
    const seen = this.#seen;
    this.#seen = [];
    for (const piece of seen) this.#give(piece, null);
    if (this.#ended) sink.finish(this.#trailers);
    else if (this.wanted) this.#onWanted();
  }

  /** The sink has failed before it was given anything: what comes until there is another is kept for that. */
  hold(): void {
    if (this.#use !== "forwarded") return;
    this.#use = "held";
    this.#sink = null;
    this.#blocked = false;
  }

  /** The sink takes more again. */
  drained(): void {
    this.#blocked = false;
    if (!this.#ended) this.#onWanted();
  }

  /** What is still to come is read away, so that the client gets to read its answer. */
  drop(): void {
    this.#use = "dropped";
    this.#sink = null;
    this.#blocked = false;
    if (!this.#ended) this.#onWanted();
  }

  /** @param slab Where the piece lies; null: it lasts. */
  take(piece: Buffer, slab: Slab | null = null): void {
    if (this.#use === "forwarded") this.#give(piece, slab);
    else if (this.#use !== "dropped") {
      slab?.hold();
      if (this.#use === "gathered") this.#keep(piece);
      else this.#seen.push(piece);
    }
  }

  /** Everything that came at once has been taken. */
  flush(): void {
    if (this.#sink?.send() === false) this.#blocked = true;
  }

  end(trailers: string): void {
    this.#ended = true;
    this.#trailers = trailers;
    if (this.#use === "gathered") {
      this.#whole = Buffer.concat(this.#seen);
      this.#seen = [];
      this.#reader?.resolve();
    }
    this.#sink?.finish(trailers);
  }

  /** The client is gone: no more will come. */
  lose(): void {
    this.#lost = true;
    this.#sink = null;
    this.#reader?.reject(new BodyLostError());
  }

  #give(piece: Buffer, slab: Slab | null): void {
    this.#begun = true;
    this.#sink?.take(piece, slab);
  }

  #keep(piece: Buffer): void {
    this.#seen.push(piece);
    this.#seenLength += piece.length;
    if (this.#seenLength <= this.#limit) return;
    this.#use = "held";
    this.#reader?.resolve();
  }

  #gather(limit: number): Promise<void> {
    this.#reader = Promise.withResolvers();
    const { promise } = this.#reader;
    if (this.#lost) this.lose();
    else {
      this.#limit = limit;
      this.#use = "gathered";
      this.#onWanted();
    }
    return promise;
  }
}
