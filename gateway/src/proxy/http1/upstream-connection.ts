/** One connection to a target: a request and its response at a time, both as bytes. */
import type { Socket } from "node:net";
import type { UpstreamTarget } from "../../runtime/runtime.ts";
import { InterimResponseLimit } from "../upstream/interim-limit.ts";
import { closedEarly, tooManyInterims, unaskedProtocol, unreadable } from "../upstream/upstream-errors.ts";
import { IdleTimer } from "./idle-timer.ts";
import { headerOf } from "./parse/access.ts";
import { CHUNK_DATA, CHUNK_END, ChunkedScanner } from "./parse/chunked.ts";
import { parseErrorOf } from "./parse/faults.ts";
import type { FieldSection } from "./parse/fields.ts";
import { CHUNKED_BODY, LENGTH_BODY, UNTIL_CLOSE } from "./parse/framing.ts";
import { methodId } from "./parse/methods.ts";
import { ResponseHead } from "./parse/response-head.ts";
import type { ReadBuffer } from "./read-buffer.ts";
import { type Slab, slabOf, WORTHWHILE } from "./slab.ts";
import { WriteQueue } from "./write-queue.ts";

/** Receives the response. Heads and fields hold only during the call. */
export interface ResponseListener {
  interim(head: ResponseHead): void;
  head(head: ResponseHead): void;
  /**
   * Bytes of the body, from `start` to `end`.
   *
   * @param slab Where they lie; they hold during the call and as long as the slab is held. Null: they last.
   */
  data(bytes: Buffer, start: number, end: number, slab: Slab | null): void;
  /** All has come. Null: no trailers. The connection is not this listener's any more. */
  end(trailers: FieldSection | null): void;
  /** Everything that came at once has been told. False: no more until `resume` is called. */
  flush(): boolean;
  /** The upstream agreed to the other protocol; `first` is what it has sent of that. The socket is the listener's now. */
  upgraded(head: ResponseHead, socket: Socket, first: Buffer): void;
  /** No more will come. */
  failed(error: Error): void;
  /** The upstream takes more of the request again. */
  drained(): void;
  /** `silence` went off: nothing has come for so long. */
  silent(): void;
  /** `stall` went off: nothing was taken for so long. */
  stalled(): void;
}

export interface RequestFacts {
  readonly method: string;
  /** What it asks to upgrade to; null: nothing. */
  readonly protocol: string | null;
  readonly listener: ResponseListener;
}

/** Where a connection goes that may carry another request, or is gone. */
export interface ConnectionOwner {
  release(connection: UpstreamConnection): void;
  drop(connection: UpstreamConnection): void;
}

const IDLE = 0;
const HEAD = 1;
const LENGTH = 2;
const CHUNKED = 3;
const CLOSE = 4;
const GONE = 5;

const NOTHING = Buffer.alloc(0);

export class UpstreamConnection {
  readonly target: UpstreamTarget;
  readonly socket: Socket;
  /** Requests that it has been given. */
  requests = 0;
  /** Since when it is idle, by `performance.now()`. */
  idleSince = 0;
  /** The listener's to start. They outlive requests, for making a timer costs more than a request may. */
  readonly silence = new IdleTimer(() => this.#listener?.silent());
  readonly stall = new IdleTimer(() => this.#listener?.stalled());
  readonly #owner: ConnectionOwner;
  readonly #outbox: WriteQueue;
  readonly #head = new ResponseHead();
  readonly #interims = new InterimResponseLimit();
  #chunks: ChunkedScanner | null = null;
  #listener: ResponseListener | null = null;
  #phase = IDLE;
  /** Bytes of the body that are missing. */
  #left = 0;
  /** A head that is not there as a whole. */
  #kept: Buffer = NOTHING;
  /** What the request asks to upgrade to; null: nothing. */
  #protocol: string | null = null;
  /** Whether the request has been written whole. */
  #sent = false;
  #error: Error | null = null;
  readonly #inlet: ReadBuffer | null;
  /** Where lies what is being read; null: it lasts. */
  #slab: Slab | null = null;

  /**
   * @param socket Connected
   * @param inlet Where the socket reads to; null: it tells by "data"
   */
  constructor(
    target: UpstreamTarget,
    socket: Socket,
    { owner, inlet }: { owner: ConnectionOwner; inlet: ReadBuffer | null },
  ) {
    this.target = target;
    this.socket = socket;
    this.#owner = owner;
    this.#inlet = inlet;
    this.#outbox = new WriteQueue(socket);
    if (inlet === null) socket.on("data", this.#onData);
    else inlet.read = (slab, end) => this.#read(slab.bytes, end, slab);
    socket.on("drain", this.#onDrain);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  /** Whether this is the first request on the connection: then its end is no sign of an idle connection's. */
  get isFresh(): boolean {
    return this.requests <= 1;
  }

  /** Begins a request. Nothing is on its way before `flush`. */
  begin(head: string, { method, protocol, listener }: RequestFacts): void {
    this.#listener = listener;
    this.#protocol = protocol;
    this.requests++;
    this.#sent = false;
    this.#phase = HEAD;
    this.#head.reset(idOf(method));
    this.#interims.reset();
    this.#outbox.text(head);
  }

  /** @param slab Where the piece lies; null: it does not change any more. */
  write(piece: Buffer, slab: Slab | null): void {
    this.#outbox.bytes(piece, slab);
  }

  writeText(text: string): void {
    this.#outbox.text(text);
  }

  /** False: the upstream takes no more for now; the listener's `drained` tells when it does. */
  flush(): boolean {
    return this.#outbox.flush();
  }

  /** The request has been written whole. */
  sent(): void {
    this.#sent = true;
  }

  resume(): void {
    this.socket.resume();
  }

  /** Its listener is told no more. */
  destroy(): void {
    this.#listener = null;
    this.#phase = GONE;
    this.#closeTimers();
    this.socket.destroy();
  }

  #closeTimers(): void {
    this.silence.close();
    this.stall.close();
  }

  readonly #onData = (chunk: Buffer): void => {
    const slab = slabOf(chunk);
    this.#read(chunk, chunk.length, slab);
    slab?.release();
  };

  #read(chunk: Buffer, size: number, slab: Slab | null): void {
    const listener = this.#listener;
    if (this.#phase === IDLE || listener === null) {
      // Nobody asked: what comes now would be read as the answer to the next request.
      this.destroy();
      return;
    }
    let bytes = chunk;
    let end = size;
    let at = 0;
    this.#slab = slab;
    if (this.#kept.length > 0) {
      bytes = Buffer.concat([this.#kept, chunk.subarray(0, size)]);
      end = bytes.length;
      this.#kept = NOTHING;
      this.#slab = null;
    }
    while (this.#phase === HEAD) {
      const next = this.#readHead(listener, bytes, at, end);
      if (next <= 0) {
        // What has come before it does not wait for it.
        if (at > 0) this.#flushTo(listener);
        return;
      }
      at = next;
    }
    this.#readBody(listener, bytes, at, end);
    if (!listener.flush() && this.#listener === listener) this.socket.pause();
    if (this.#inlet !== null) this.#inlet.isLong = size >= WORTHWHILE && this.#mayBeLong;
  }

  #flushTo(listener: ResponseListener): void {
    if (this.#listener === listener && !listener.flush()) this.socket.pause();
  }

  /** Whether much of the body may be missing. */
  get #mayBeLong(): boolean {
    return this.#phase === LENGTH ? this.#left >= WORTHWHILE : this.#phase === CHUNKED || this.#phase === CLOSE;
  }

  /** What may be kept. */
  #copied(bytes: Buffer, start: number, end: number): Buffer {
    const piece = bytes.subarray(start, end);
    return this.#slab === null ? piece : Buffer.from(piece);
  }

  /** Returns where the next head or the body begins; 0 when there is nothing more to do. */
  #readHead(listener: ResponseListener, bytes: Buffer, at: number, end: number): number {
    const head = this.#head;
    const next = head.parse(bytes, at, end);
    if (next < 0) {
      this.#fail(unreadable(parseErrorOf(next).reason));
      return 0;
    }
    if (next === 0) {
      this.#kept = this.#copied(bytes, at, end);
      return 0;
    }
    if (head.upgrade && this.#protocol !== null && isAsked(head, this.#protocol)) {
      this.#giveAway(listener, this.#copied(bytes, next, end));
      return 0;
    }
    if (head.status < 200) {
      // It agrees to something else than what was asked for.
      if (head.status === 101) {
        this.#fail(unaskedProtocol());
        return 0;
      }
      if (!this.#interims.allows(next - at)) {
        this.#fail(tooManyInterims());
        return 0;
      }
      listener.interim(head);
      return next;
    }
    const { bodyKind } = head;
    this.#left = bodyKind === LENGTH_BODY ? head.contentLength : 0;
    this.#phase = bodyKind === CHUNKED_BODY ? CHUNKED : bodyKind === UNTIL_CLOSE ? CLOSE : LENGTH;
    if (bodyKind === CHUNKED_BODY) {
      this.#chunks ??= new ChunkedScanner();
      this.#chunks.reset();
    }
    listener.head(head);
    return next;
  }

  #readBody(listener: ResponseListener, bytes: Buffer, start: number, end: number): void {
    if (this.#phase === CHUNKED) {
      this.#readChunks(listener, bytes, start, end);
      return;
    }
    if (this.#phase === CLOSE) {
      if (end > start) listener.data(bytes, start, end, this.#slab);
      return;
    }
    if (this.#phase !== LENGTH) return;
    const size = Math.min(this.#left, end - start);
    this.#left -= size;
    if (size > 0) listener.data(bytes, start, start + size, this.#slab);
    if (this.#left === 0) this.#ended(listener, null, start + size === end);
  }

  #readChunks(listener: ResponseListener, bytes: Buffer, start: number, end: number): void {
    const chunks = this.#chunks;
    if (chunks === null) return;
    for (let at = start; this.#listener === listener; ) {
      const what = chunks.next(bytes, at, end);
      at = chunks.position;
      if (what === CHUNK_DATA) {
        listener.data(bytes, chunks.dataStart, chunks.dataEnd, this.#slab);
      } else if (what === CHUNK_END) {
        this.#ended(listener, chunks.trailers.count > 0 ? chunks.trailers : null, at === end);
        return;
      } else {
        if (what < 0) this.#fail(unreadable(parseErrorOf(what).reason));
        return;
      }
    }
  }

  /** @param clean Whether nothing came behind the response */
  #ended(listener: ResponseListener, trailers: FieldSection | null, clean: boolean): void {
    this.#listener = null;
    this.#phase = IDLE;
    this.silence.stop();
    this.stall.stop();
    const { keepAlive } = this.#head;
    listener.end(trailers);
    this.#head.fields.release();
    // After an early answer the rest of the request would be read as another.
    if (clean && keepAlive && this.#sent && !this.socket.destroyed) {
      this.socket.resume();
      this.#owner.release(this);
    } else this.destroy();
  }

  #giveAway(listener: ResponseListener, first: Buffer): void {
    const { socket } = this;
    this.#phase = GONE;
    this.#listener = null;
    this.#owner.drop(this);
    this.#closeTimers();
    socket.off("data", this.#onData).off("drain", this.#onDrain).off("end", this.#onEnd);
    socket.off("error", this.#onError).off("close", this.#onClose);
    listener.upgraded(this.#head, socket, first);
  }

  #fail(error: Error): void {
    const listener = this.#listener;
    this.destroy();
    listener?.failed(error);
  }

  readonly #onDrain = (): void => {
    this.#listener?.drained();
  };

  readonly #onEnd = (): void => {
    const listener = this.#listener;
    if (this.#phase === CLOSE && listener !== null) {
      this.#ended(listener, null, false);
      listener.flush();
    } else this.#fail(closedEarly());
  };

  readonly #onError = (error: Error): void => {
    this.#error = error;
  };

  readonly #onClose = (): void => {
    this.#owner.drop(this);
    if (this.#listener !== null) this.#fail(this.#error ?? closedEarly());
  };
}

/** Whether a 101 is about what the client asked for (RFC 9110 section 7.8). */
const isAsked = (head: ResponseHead, protocol: string): boolean =>
  headerOf(head.fields, "upgrade")?.toLowerCase() === protocol.toLowerCase();

/** What the response's framing depends on (RFC 9112 section 6.3). */
const idOf = (method: string): number => ids.get(method) ?? 0;
const ids = new Map<string, number>();
for (const name of ["HEAD", "CONNECT"]) ids.set(name, methodId(Buffer.from(name), 0, name.length));
