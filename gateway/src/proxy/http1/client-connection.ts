/** One HTTP/1.1 client connection: parses heads and bodies as they arrive and runs one exchange after the other. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { ClientBody } from "../client/client-body.ts";
import { type ConnectionPeer, peerOf } from "../client/open-connection.ts";
import type { TrafficCounters } from "../exchange/live-exchange.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { attachReadBuffer, emitAsData } from "../sockets/accepted-socket.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { ClientInput } from "../sockets/client-input.ts";
import type { ReadBuffer } from "../sockets/read-buffer.ts";
import { WriteQueue } from "../sockets/write-queue.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { MinRateTimer } from "../timers/min-rate-timer.ts";
import { ClientBackpressure } from "./client-backpressure.ts";
import { ClientHead, gatewayErrorOfHead, isWebSocket } from "./client-head.ts";
import { NONE_DROPPED, passedLines } from "./head-text.ts";
import { type ConnectionContext, type Http1ClientSide, Http1Exchange } from "./http1-exchange.ts";
import { CHUNK_DATA, CHUNK_END, ChunkedScanner } from "./parse/chunked.ts";
import { CHUNKED_BODY, LENGTH_BODY, NO_BODY } from "./parse/framing.ts";
import { RequestHeadParser } from "./parse/request-head.ts";
import { gatewayResponseText } from "./response-text.ts";
import { joinSockets, type Tunnel, type TunnelOptions } from "./tunnel.ts";

/** Between requests, or in the middle of a head. */
const HEAD = 0;
/** An exchange is under way or over, and the body of its request is incomplete. */
const BODY = 1;
/** The request is complete; its response is incomplete, or still waits for the client. */
const RESPONSE = 2;
const TUNNEL = 3;
/** The last response has been written; further input is discarded. */
const CLOSING = 4;
const GONE = 5;

/** Milliseconds that a client may go on sending a body that is discarded. Closing earlier could lose the response. */
const LINGER = 30_000;
/** Milliseconds that a client may continue to send after an error, or after the last response. */
const CLOSING_LINGER = 2000;
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

export class Http1Connection implements Http1ClientSide, TrafficCounters {
  readonly out: WriteQueue;
  readonly #context: ConnectionContext;
  readonly #socket: Socket;
  // Null until the first request: the connections of many checks by load balancers end without one.
  #peer: ConnectionPeer | null = null;
  #parsed: RequestHeadParser | null = null;
  /** Runs while the gateway waits for input from the client. */
  readonly #watchdog = new IdleTimer(() => this.#late());
  readonly #sending: MinRateTimer;
  readonly #taking: ClientBackpressure;
  #state = HEAD;
  /** Null: the socket emits "data" events only. */
  readonly #inlet: ReadBuffer | null;
  /** Received bytes that are not consumed yet. */
  readonly #input = new ClientInput();
  #chunks: ChunkedScanner | null = null;
  /** Remaining bytes of the body; negative when it is chunked. */
  #left = 0;
  #body: ClientBody | null = null;
  #delivery: Http1Exchange | null = null;
  #tunnel: Tunnel | null = null;
  #awaitsContinue = false;
  /** True during the call that handles a head that was just parsed. */
  #isBeginning = false;
  #requests = 0;
  /** Whether the connection ends after the response in progress, or at once if it is idle. */
  #ends = false;
  /** Bytes of the current request so far. */
  bytesIn = 0;
  #writtenBefore = 0;

  constructor(context: ConnectionContext, socket: Socket) {
    this.#context = context;
    this.#socket = socket;
    this.out = new WriteQueue(socket);
    this.#sending = new MinRateTimer(this.#watchdog, context.bodyPace);
    this.#taking = new ClientBackpressure(socket, {
      out: this.out,
      limits: context.sendPace,
      memory: context.memory,
      onLate: () => this.destroy(),
    });
    this.#inlet = attachReadBuffer(socket, { isTls: socket instanceof TLSSocket });
    if (this.#inlet !== null) this.#inlet.read = this.#onRead;
    socket.on("data", this.#onData).on("drain", this.#onDrain);
    socket.on("end", this.#onGone).on("error", this.#onGone).on("close", this.#onClose);
    this.#watchdog.start(context.headersTimeout);
  }

  get bytesOut(): number {
    return this.out.written - this.#writtenBefore;
  }

  /** Between two requests, or before the first. */
  get isIdle(): boolean {
    return this.#state === HEAD && !this.#input.holdsHead;
  }

  get isAnswering(): boolean {
    return this.#delivery !== null;
  }

  get mayGoOn(): boolean {
    if (this.#parsed?.keepAlive !== true) return false;
    return !this.#awaitsContinue && this.#requests < this.#context.maxRequests && !this.#ends;
  }

  /** Closes after the response in progress, or at once if there is none and `keepIdle` is false. Tunnels stay open. */
  drain(keepIdle: boolean): void {
    this.#ends = !keepIdle;
    // After an early response only a body that is discarded remains.
    const isAnswered = this.#state === BODY && this.#delivery === null;
    if (!keepIdle && (this.isIdle || isAnswered)) this.#close();
  }

  destroy(): void {
    this.#tunnel?.destroy();
    this.#socket.destroy();
  }

  responseWritten(last: boolean, now?: number): void {
    if (last) {
      this.#close();
      return;
    }
    const body = this.#body;
    if (body !== null && !body.ended) {
      // The exchange is over, but the client is still sending its body.
      this.#delivery = null;
      this.#watchdog.start(LINGER);
      body.drop();
      return;
    }
    this.#goOn(now);
  }

  full(): void {
    this.#taking.wait(this.#requests);
  }

  join(tunnel: Omit<TunnelOptions, "client" | "account">): void {
    const socket = this.#socket;
    this.#state = TUNNEL;
    this.#watchdog.close();
    this.#taking.close();
    if (this.#inlet !== null) emitAsData(this.#inlet, socket);
    socket.off("data", this.#onData).off("drain", this.#onDrain).off("end", this.#onGone);
    if (this.#input.length > 0) tunnel.upstream.write(this.#input.bytes);
    this.#input.clear();
    this.#parsed?.fields.release();
    this.#tunnel = joinSockets({ client: socket, account: this.#taking.account, ...tunnel });
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state >= CLOSING) return;
    this.#input.add(ByteView.of(chunk));
    this.#advance();
  };

  readonly #onRead = (view: ByteView): void => {
    if (this.#state >= CLOSING) return;
    this.#input.add(view);
    this.#advance();
    const inlet = this.#inlet;
    if (inlet === null) return;
    // Many bytes of the body may be outstanding.
    const mayBeLong = this.#state === BODY && (this.#left < 0 || this.#left >= inlet.longRead);
    inlet.isLong = mayBeLong && view.length >= inlet.longRead;
  };

  #goOn(now?: number): void {
    // The next request waits, because the client does not read its responses.
    if (this.#socket.writableNeedDrain) {
      this.full();
      return;
    }
    this.#next(now);
    // Deferred, because the caller may be in the middle of reading.
    if (this.#input.length > 0) setImmediate(() => this.#advance());
  }

  #advance(): void {
    while (this.#input.length > 0) {
      if (this.#state === HEAD) {
        // The call that is handling a head reads the next one too; a nested call could overflow the stack.
        if (this.#isBeginning || !this.#readHead()) break;
      } else if (this.#state === BODY && this.#body?.wanted) {
        if (this.#left >= 0) this.#readLength(this.#body);
        else if (!this.#readChunks(this.#body)) break;
      } else break;
    }
    if (this.#state === BODY) this.#body?.flush();
    if (this.#state === BODY || this.#state === RESPONSE) this.#taking.ahead(this.#input.length);
    // After an early response a single time limit covers the rest of the body.
    if (this.#state !== BODY || this.#delivery === null) return;
    if (this.#body?.wanted) this.#sending.resume(this.bytesIn);
    else this.#sending.pause(this.bytesIn);
  }

  /** Returns false when the head is incomplete or invalid. */
  #readHead(): boolean {
    const input = this.#input;
    this.#parsed ??= new RequestHeadParser(this.#context.limits);
    const parsed = this.#parsed;
    input.skipEmptyLines();
    if (!input.holdsHead) return false;
    const behind = parsed.parse(input.bytes, 0, input.length);
    if (behind === 0) {
      if (this.#requests > 0 && this.bytesIn === 0) this.#watchdog.start(this.#context.headersTimeout);
      this.bytesIn = input.length;
      return false;
    }
    if (behind < 0) {
      this.#reject(gatewayErrorOfHead(behind));
      return false;
    }
    input.skipHead(behind);
    this.bytesIn = behind;
    this.#isBeginning = true;
    this.#begin(parsed);
    this.#isBeginning = false;
    return true;
  }

  #begin(parsed: RequestHeadParser): void {
    this.#watchdog.stop();
    this.#requests++;
    this.#context.onRequest();
    const { bodyKind } = parsed;
    this.#left = bodyKind === LENGTH_BODY ? parsed.contentLength : -1;
    this.#state = bodyKind === NO_BODY ? RESPONSE : BODY;
    if (bodyKind === CHUNKED_BODY) {
      this.#chunks ??= new ChunkedScanner();
      this.#chunks.reset();
    }
    if (bodyKind !== NO_BODY) this.#sending.reset(this.bytesIn);
    this.#awaitsContinue = parsed.expectContinue && bodyKind !== NO_BODY;
    const body = bodyKind === NO_BODY ? null : new ClientBody(bodyKind === LENGTH_BODY ? this.#left : null, this.#read);
    this.#body = body;
    const head = new ClientHead(parsed, this.#readPeer(), body);
    if (parsed.expectUnknown) {
      this.#reject("unknownExpectation", head.method === "HEAD");
      return;
    }
    const opened = this.#context.pipeline.open(head, this);
    if (opened.exchange === undefined) {
      this.#refuse(opened.refusal, { isLast: opened.last, bodiless: head.method === "HEAD" });
      return;
    }
    const { exchange } = opened;
    const protocol = parsed.upgrade && isWebSocket(head) ? (head.header("upgrade") ?? null) : null;
    this.#delivery = new Http1Exchange(this.#context, { exchange, protocol, client: this });
    this.#delivery.run();
  }

  #readPeer(): ConnectionPeer {
    this.#peer ??= peerOf(this.#socket);
    return this.#peer;
  }

  /** Called when the body is wanted. */
  readonly #read = (): void => {
    if (this.#awaitsContinue && this.#state === BODY) {
      this.#awaitsContinue = false;
      this.out.text(CONTINUE);
      this.out.flush();
    }
    this.#advance();
  };

  #readLength(body: ClientBody): void {
    const size = Math.min(this.#left, this.#input.length);
    this.#left -= size;
    this.bytesIn += size;
    this.#input.pass(body, 0, size);
    if (this.#left === 0 && this.#body === body) this.#bodyEnded(body, "");
  }

  /** Returns false when the chunked coding is invalid. */
  #readChunks(body: ClientBody): boolean {
    const chunks = this.#chunks;
    if (chunks === null) return false;
    const { bytes } = this.#input;
    const what = chunks.next(bytes, 0, bytes.length);
    if (what < 0) {
      this.#rejectBody("badRequest");
      return false;
    }
    const at = chunks.position;
    this.bytesIn += at;
    if (what === CHUNK_DATA) this.#input.pass(body, chunks.dataStart, chunks.dataEnd, at);
    else if (what === CHUNK_END) {
      const trailers = passedLines(chunks.trailers, NONE_DROPPED, null);
      this.#input.skip(at);
      this.#bodyEnded(body, trailers);
    } else this.#input.skip(at);
    return true;
  }

  #bodyEnded(body: ClientBody, trailers: string): void {
    const isAnswered = this.#delivery === null;
    this.#state = RESPONSE;
    this.#watchdog.stop();
    body.end(trailers);
    if (isAnswered && this.#state === RESPONSE) this.#goOn();
  }

  /** Prepares for the next request. */
  #next(now?: number): void {
    this.#state = HEAD;
    this.#delivery = null;
    this.#body = null;
    this.bytesIn = 0;
    this.#writtenBefore = this.out.written;
    this.#parsed?.fields.release();
    this.#input.releaseHead();
    this.#taking.ahead(0);
    this.#input.skipEmptyLines();
    this.#watchdog.start(this.#context.keepAliveTimeout, now);
    if (this.#ends && this.isIdle) this.#close();
  }

  /** Answers and closes the connection, because the start of the next request is unknown. */
  #reject(fault: GatewayErrorName, bodiless = false): void {
    this.#refuse(this.#context.pipeline.refuse(fault, this.#readPeer()), { isLast: true, bodiless });
  }

  #rejectBody(fault: GatewayErrorName): void {
    if (this.#delivery === null) this.destroy();
    else {
      this.#state = RESPONSE;
      this.#input.clear();
      this.#delivery.reject(fault);
    }
  }

  /** Answers a request for which no exchange was opened. */
  #refuse(
    response: GatewayResponse,
    { isLast, bodiless }: { readonly isLast: boolean; readonly bodiless: boolean },
  ): void {
    const last = isLast || !this.mayGoOn || this.#context.draining();
    const connection = last ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
    this.out.text(gatewayResponseText(response, { connection, bodiless }));
    this.out.flush();
    this.responseWritten(last);
  }

  /** Half-closes first: closing at once would reset the connection before the client has read its response. */
  #close(): void {
    this.#state = CLOSING;
    this.#delivery = null;
    this.#input.clear();
    // The callback runs once all data has been flushed.
    this.#socket.end(this.#onFinish);
    this.#socket.resume();
    if (this.#socket.writableLength > 0) this.full();
  }

  /** Called when the watchdog expires: the client was silent for too long, or too slow. */
  #late(): void {
    const isReading = this.#state === HEAD && (this.#requests === 0 || this.bytesIn > 0);
    if (isReading) this.#reject("requestTimeout");
    else if (this.#state === BODY) this.#rejectBody("requestTimeout");
    else this.#socket.destroy();
  }

  readonly #onFinish = (error?: Error | null): void => {
    if (error) return;
    this.#taking.stop();
    this.#watchdog.start(CLOSING_LINGER);
  };

  readonly #onDrain = (): void => {
    this.#taking.drained();
    if (this.#state === RESPONSE && (this.#delivery === null || this.#delivery.isOver)) this.#goOn();
    else this.#delivery?.resumeCall();
  };

  /** A client that half-closes is treated as gone, as in nginx. */
  readonly #onGone = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#state = GONE;
    this.#watchdog.close();
    this.#delivery?.abort();
    this.#delivery = null;
    this.#body?.lose();
    this.#taking.leave();
    this.#context.onClose(this);
  };
}
