/** One connection to a target, which carries one request and response at a time as bytes. */
import type { Socket } from "node:net";
import type { UpstreamTarget } from "../../../compile/runtime.ts";
import type { Connect } from "../../../outbound/connect.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { ReadBuffer } from "../../sockets/read-buffer.ts";
import { WriteQueue } from "../../sockets/write-queue.ts";
import { IdleTimer } from "../../timers/idle-timer.ts";
import { dialTarget, type TlsSessionCache } from "../../upstream/dial.ts";
import {
  closedEarly,
  InterimResponseLimit,
  tooManyInterims,
  unaskedProtocol,
  unreadable,
  wrongAccept,
} from "../../upstream/failure.ts";
import type { UpstreamCallListener } from "../../upstream/upstream-call.ts";
import { CHUNK_DATA, CHUNK_END, ChunkedScanner } from "../parse/chunked.ts";
import { parseErrorOf } from "../parse/faults.ts";
import { type FieldSection, headerOf } from "../parse/fields.ts";
import { CHUNKED_BODY, LENGTH_BODY, UNTIL_CLOSE } from "../parse/framing.ts";
import { methodId } from "../parse/head-parser.ts";
import { ResponseHeadParser } from "../parse/response-head.ts";

/** Receives the response. After `end`, `upgraded` or `failed`, the listener must not use the connection any more. */
export interface Http1ResponseListener
  extends Omit<UpstreamCallListener<ResponseHeadParser, FieldSection>, "failed" | "broken"> {
  /**
   * Called when the upstream has switched protocols. `first` is data of the new protocol; the listener owns the socket.
   */
  upgraded(head: ResponseHeadParser, socket: Socket, first: Buffer): void;
  /** Called when the response will not be completed. */
  failed(error: Error): void;
  /** Called when the upstream accepts more of the request again. */
  drained(): void;
  /** Called when `silence` expires: no data was received. */
  silent(): void;
  /** Called when `stall` expires: the upstream accepted no data. */
  stalled(): void;
}

export interface RequestFacts {
  readonly method: string;
  /** Protocol that the request asks to upgrade to; null: none. */
  readonly protocol: string | null;
  /** The Sec-WebSocket-Accept that the upstream must send. Default: it is not checked. */
  readonly accept?: string | undefined;
  readonly listener: Http1ResponseListener;
}

/** Receives the connection back when it can carry another request, or is closed. */
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
  /** Requests sent on this connection so far. */
  requests = 0;
  /** Start of the idle period by `performance.now()`. */
  idleSince = 0;
  /** Milliseconds for which it may stay idle, by the upstream's Keep-Alive header. */
  maxIdleTime = Number.POSITIVE_INFINITY;
  /** Started by the listener, like `stall`. Both outlive requests, so that a request creates no timers. */
  readonly silence = new IdleTimer(() => this.#listener?.silent());
  readonly stall = new IdleTimer(() => this.#listener?.stalled());
  readonly #owner: ConnectionOwner;
  readonly #outbox: WriteQueue;
  readonly #head = new ResponseHeadParser();
  readonly #interims = new InterimResponseLimit();
  #chunks: ChunkedScanner | null = null;
  #listener: Http1ResponseListener | null = null;
  #phase = IDLE;
  /** Remaining bytes of the body. */
  #left = 0;
  /** Bytes of an incomplete head. */
  #kept: Buffer = NOTHING;
  /** Protocol that the request asks to upgrade to; null: none. */
  #protocol: string | null = null;
  #accept: string | undefined;
  /** Whether the request has been written completely. */
  #sent = false;
  #error: Error | null = null;
  readonly #inlet: ReadBuffer | null;

  /**
   * @param socket Connected
   * @param inlet The socket's read buffer; null: it emits "data" events
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
    else inlet.read = (view) => this.#read(view);
    socket.on("drain", this.#onDrain);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  /** Whether this is the connection's first request. If so, an early close is no sign of a stale connection. */
  get isFresh(): boolean {
    return this.requests <= 1;
  }

  /** Begins a request. Nothing is written before `flush`. */
  begin(head: string, { method, protocol, accept, listener }: RequestFacts): void {
    this.#listener = listener;
    this.#protocol = protocol;
    this.#accept = accept;
    this.requests++;
    this.#sent = false;
    this.#phase = HEAD;
    this.#head.reset(idOf(method));
    this.#interims.reset();
    this.#outbox.text(head);
  }

  write(view: ByteView): void {
    this.#outbox.bytes(view);
  }

  writeText(text: string): void {
    this.#outbox.text(text);
  }

  /** Returns false when the upstream accepts no more for now; `drained` follows. */
  flush(): boolean {
    return this.#outbox.flush();
  }

  /** Called when the request has been written completely. */
  sent(): void {
    this.#sent = true;
  }

  resume(): void {
    this.socket.resume();
  }

  /** Closes the connection. The listener is not called any more. */
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

  readonly #onData = (chunk: Buffer): void => this.#read(ByteView.of(chunk));

  #read(received: ByteView): void {
    const listener = this.#listener;
    if (this.#phase === IDLE || listener === null) {
      // Unsolicited data: it would be read as the response to the next request.
      this.destroy();
      return;
    }
    let view = received;
    if (this.#kept.length > 0) {
      view = ByteView.of(Buffer.concat([this.#kept, received.bytes.subarray(received.start, received.end)]));
      this.#kept = NOTHING;
    }
    let at = view.start;
    while (this.#phase === HEAD) {
      const next = this.#readHead(listener, view, at);
      if (next <= 0) {
        // Interim responses before an incomplete head are sent at once.
        if (at > view.start) this.#flushTo(listener);
        return;
      }
      at = next;
    }
    this.#readBody(listener, view, at);
    if (!listener.flush() && this.#listener === listener) this.socket.pause();
    const inlet = this.#inlet;
    if (inlet !== null) inlet.isLong = received.length >= inlet.longRead && this.#mayBeLong(inlet.longRead);
  }

  #flushTo(listener: Http1ResponseListener): void {
    if (this.#listener === listener && !listener.flush()) this.socket.pause();
  }

  /** Whether many bytes of the body may be outstanding. */
  #mayBeLong(minimum: number): boolean {
    return this.#phase === LENGTH ? this.#left >= minimum : this.#phase === CHUNKED || this.#phase === CLOSE;
  }

  /** Returns the offset of the next head or of the body; 0 when the head is incomplete or no response follows. */
  #readHead(listener: Http1ResponseListener, view: ByteView, at: number): number {
    const head = this.#head;
    const { bytes, end } = view;
    const next = head.parse(bytes, at, end);
    if (next < 0) {
      this.#fail(unreadable(parseErrorOf(next).reason));
      return 0;
    }
    if (next === 0) {
      this.#kept = view.part(at, end).keep();
      return 0;
    }
    if (head.upgrade && this.#protocol !== null && isAsked(head, this.#protocol)) {
      if (this.#accept !== undefined && headerOf(head.fields, "sec-websocket-accept") !== this.#accept) {
        this.#fail(wrongAccept());
      } else this.#giveAway(listener, view.part(next, end).keep());
      return 0;
    }
    if (head.status < 200) {
      // The upstream agreed to a protocol that was not requested.
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

  #readBody(listener: Http1ResponseListener, view: ByteView, start: number): void {
    const { end } = view;
    if (this.#phase === CHUNKED) {
      this.#readChunks(listener, view, start);
      return;
    }
    if (this.#phase === CLOSE) {
      if (end > start) listener.data(view.part(start, end));
      return;
    }
    if (this.#phase !== LENGTH) return;
    const size = Math.min(this.#left, end - start);
    this.#left -= size;
    if (size > 0) listener.data(view.part(start, start + size));
    // The listener may have destroyed the connection.
    if (this.#left === 0 && this.#listener === listener) this.#ended(listener, null, start + size === end);
  }

  #readChunks(listener: Http1ResponseListener, view: ByteView, start: number): void {
    const chunks = this.#chunks;
    if (chunks === null) return;
    const { bytes, end } = view;
    for (let at = start; this.#listener === listener; ) {
      const what = chunks.next(bytes, at, end);
      at = chunks.position;
      if (what === CHUNK_DATA) {
        listener.data(view.part(chunks.dataStart, chunks.dataEnd));
      } else if (what === CHUNK_END) {
        this.#ended(listener, chunks.trailers.count > 0 ? chunks.trailers : null, at === end);
        return;
      } else {
        if (what < 0) this.#fail(unreadable(parseErrorOf(what).reason));
        return;
      }
    }
  }

  /** @param clean Whether no bytes followed the response */
  #ended(listener: Http1ResponseListener, trailers: FieldSection | null, clean: boolean): void {
    this.#listener = null;
    this.#phase = IDLE;
    this.silence.stop();
    this.stall.stop();
    const { keepAlive } = this.#head;
    listener.end(trailers);
    this.#head.fields.release();
    // The connection is reused only if the request was written completely. After an early response, the upstream would
    // read the rest of the request as another request, and bytes that still wait in the socket are in memory that is
    // about to be used for other data.
    if (clean && keepAlive && this.#sent && this.socket.writableLength === 0 && !this.socket.destroyed) {
      this.socket.resume();
      this.#owner.release(this);
    } else this.destroy();
  }

  #giveAway(listener: Http1ResponseListener, first: Buffer): void {
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

/** Whether a 101 names the protocol that the client asked for (RFC 9110 section 7.8). */
const isAsked = (head: ResponseHeadParser, protocol: string): boolean =>
  headerOf(head.fields, "upgrade")?.toLowerCase() === protocol.toLowerCase();

/** Id of a method on which the framing of the response depends (RFC 9112 section 6.3); 0 for any other method. */
const idOf = (method: string): number => ids.get(method) ?? 0;
const ids = new Map<string, number>();
for (const name of ["HEAD", "CONNECT"]) ids.set(name, methodId(Buffer.from(name), 0, name.length));

/** Receives the result of a connection attempt. */
export interface ConnectionWaiter {
  connected(connection: UpstreamConnection): void;
  connectFailed(error: Error): void;
}

export interface DialConnectionOptions {
  readonly connect: Connect;
  readonly sessions: TlsSessionCache;
  readonly owner: ConnectionOwner;
  /** Whether the connection's socket may be handed to another owner. */
  readonly isGivenAway: boolean;
}

/** Opens a connection for HTTP/1.1. Returns a function that cancels the attempt. */
export function dialConnection(
  target: UpstreamTarget,
  waiter: ConnectionWaiter,
  { connect, sessions, owner, isGivenAway }: DialConnectionOptions,
): () => void {
  const inlet = isGivenAway ? null : new ReadBuffer({ isTls: target.scheme === "https" });
  const listener = {
    connected: (socket: Socket) => waiter.connected(new UpstreamConnection(target, socket, { owner, inlet })),
    failed: (error: Error) => waiter.connectFailed(error),
  };
  return dialTarget(target, listener, {
    connect,
    sessions,
    protocol: "http/1.1",
    ...(inlet !== null && { onread: inlet.onread }),
  });
}

/** Removes and returns the last idle connection that has not closed; null: there is none. */
export function popUsable(idle: UpstreamConnection[] | undefined): UpstreamConnection | null {
  let last = idle?.pop();
  // A destroyed connection stays in the list until its socket has emitted "close".
  while (last?.socket.destroyed) last = idle?.pop();
  return last ?? null;
}
