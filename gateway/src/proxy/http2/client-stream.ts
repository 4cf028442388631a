/** One HTTP/2 request of a client: its head, its body, and its exchange. */
import { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import type { TrafficCounters } from "../exchange/live-exchange.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "../timers/stream-min-rate-timer.ts";
import type { FramedStream } from "./connection/connection-frames.ts";
import { ReceiveWindow } from "./connection/receive-window.ts";
import { priorityOf, type SendScheduler } from "./connection/send-scheduler.ts";
import { errorCode, type FrameErrorCode } from "./frames/frame-types.ts";
import { Http2Exchange, type Http2ExchangeContext } from "./http2-exchange.ts";
import type { FieldCollector } from "./requests/field-collector.ts";
import type { StreamHead } from "./requests/stream-head.ts";
import { type StreamMemory, StreamWriter } from "./responses/stream-writer.ts";
import { StreamTunnel, type TunnelledUpstream } from "./stream-tunnel.ts";

export interface StreamContext extends Http2ExchangeContext {
  readonly collector: FieldCollector;
}

/** The connection of a stream. */
export interface StreamCarrier {
  readonly peer: ConnectionPeer;
  readonly scheduler: SendScheduler;
  /** Shared by the request bodies of the connection. */
  readonly sending: ConnectionActivity;
  /** Shared by the responses of the connection. */
  readonly taking: ConnectionActivity;
  /** Called when bytes of a body are held because they are not wanted yet; negative when they have been passed on. */
  countHeld(bytes: number): void;
  /** Allows the client to send this many more bytes on the stream. */
  widenStream(id: number, bytes: number): void;
  /** Resets the stream. */
  reset(id: number, code: FrameErrorCode): void;
  /** Called when both sides have ended the stream. */
  ended(id: number): void;
}

export interface StreamFacts {
  readonly id: number;
  /** Whether the request has no body. */
  readonly ended: boolean;
  readonly memory: StreamMemory;
}

/** Milliseconds that a client may continue to send a body that is discarded. */
const LINGER = 30_000;
const CONTINUE = 100;

export class ClientStream implements TrafficCounters, FramedStream {
  readonly id: number;
  bytesIn: number;
  readonly writer: StreamWriter;
  readonly memory: StreamMemory;
  /** Whether the request is an extended CONNECT (RFC 8441): DATA frames carry no body, but a WebSocket. */
  readonly isConnect: boolean;
  readonly #context: StreamContext;
  readonly #carrier: StreamCarrier;
  readonly #head: StreamHead;
  readonly #body: ClientBody | null;
  #delivery: Http2Exchange | null = null;
  /** Null until the upstream has agreed to a WebSocket. */
  #tunnel: StreamTunnel | null = null;
  /** Runs while the gateway waits for the body, except for gRPC; null without a body. */
  readonly #sending: StreamMinRateTimer | null;
  /** Runs after an early response; null until then. */
  #linger: IdleTimer | null = null;
  #awaitsContinue = false;
  /** Bytes of the body so far. */
  #received = 0;
  readonly #window = new ReceiveWindow();
  /** Pieces of the body that are not wanted yet, or of a WebSocket to which the upstream has not agreed yet. */
  #held: Buffer[] = [];
  /** Whether the client has ended its side. */
  #hasEnded: boolean;
  #trailers = "";
  #hasAnswered = false;
  #isClosed = false;
  /** True while held pieces are passed on. */
  #isPassing = false;
  /** Content-Length; -1: none. */
  readonly #declared: number;

  /** The collector contains the decoded head. */
  constructor(context: StreamContext, carrier: StreamCarrier, { id, ended, memory }: StreamFacts) {
    const { collector } = context;
    this.id = id;
    this.memory = memory;
    this.bytesIn = collector.textSize;
    this.#declared = collector.declared;
    this.isConnect = collector.protocol !== null;
    this.#context = context;
    this.#carrier = carrier;
    this.#hasEnded = ended;
    this.writer = new StreamWriter({
      id,
      scheduler: carrier.scheduler,
      responses: context.responses,
      turns: carrier.taking,
      memory,
      onDrained: () => (this.#tunnel === null ? this.#delivery?.resumeCall() : this.#tunnel.drained()),
      onEnded: () => this.#answered(),
      reset: (code) => carrier.reset(id, code),
    });
    const createBody = (declared: number | null) => new ClientBody(declared, this.#read);
    this.#head = collector.head({ peer: carrier.peer, createBody: ended || this.isConnect ? null : createBody });
    this.#body = this.#head.body;
    this.#sending = this.#body === null ? null : this.#createTimer();
    if (this.#body !== null) this.#awaitsContinue = this.#head.header("expect")?.toLowerCase() === "100-continue";
    const priority = this.#head.header("priority");
    if (priority !== undefined) this.writer.priority = priorityOf(priority);
  }

  get bytesOut(): number {
    return this.writer.written;
  }

  get isReceiving(): boolean {
    return !this.#hasEnded;
  }

  /** Runs the pipeline. */
  run(): void {
    const { pipeline } = this.#context;
    const head = this.#head;
    const opened = pipeline.open(head, this);
    if (opened.exchange === undefined) {
      this.writer.own(opened.refusal, head.method);
      this.#letGo();
      return;
    }
    this.#delivery = new Http2Exchange(this.#context, {
      exchange: opened.exchange,
      writer: this.writer,
      onOver: () => this.#letGo(),
      join: this.isConnect ? (upstream) => this.#join(upstream) : null,
    });
    this.#delivery.run();
  }

  takesFrame(length: number): boolean {
    return this.#window.takesFrame(length);
  }

  data(view: ByteView): void {
    const body = this.#body;
    this.#received += view.length;
    this.bytesIn += view.length;
    if (this.#tunnel !== null) {
      this.#tunnel.send(view);
      return;
    }
    if (this.#declared >= 0 && this.#received > this.#declared) {
      this.#carrier.reset(this.id, errorCode.protocolError);
      return;
    }
    if (body?.wanted && this.#held.length === 0) {
      body.write(view);
      this.consume(view.length);
    } else {
      view.keepIn(this.#held);
      this.#carrier.countHeld(view.length);
    }
  }

  consume(bytes: number): void {
    if (this.#hasEnded || this.#isClosed) return;
    const more = this.#window.consume(bytes);
    if (more > 0) this.#carrier.widenStream(this.id, more);
  }

  flush(): void {
    const body = this.#body;
    if (body === null || body.ended || this.#isClosed) return;
    body.flush();
    if (body.wanted) this.#await();
    else this.#sending?.pause();
  }

  /**
   * Called when the client has ended its side.
   *
   * @param trailers Lines in wire format; "": none
   */
  end(trailers = ""): void {
    this.#hasEnded = true;
    this.#trailers = trailers;
    if (this.#declared >= 0 && this.#declared !== this.#received) {
      this.#carrier.reset(this.id, errorCode.protocolError);
      return;
    }
    if (this.#tunnel !== null) this.#tunnel.end();
    else if (this.#held.length === 0) this.#endBody();
    this.#closeIfOver();
  }

  close(): void {
    this.#isClosed = true;
    this.#sending?.close();
    this.#linger?.close();
    this.#release();
    this.writer.close();
    this.#delivery?.abort();
    this.#tunnel?.close();
    this.#body?.lose();
    this.#context.collector.recycle(this.#head);
  }

  /** Called when the body is wanted. */
  readonly #read = (): void => {
    const body = this.#body;
    if (body === null || !body.wanted || this.#isClosed) return;
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      if (!this.#hasEnded) this.writer.interim(CONTINUE, []);
    }
    if (!this.#isPassing) this.#passHeld(body);
    if (this.#hasEnded && this.#held.length === 0) this.#endBody();
    else if (body.wanted) this.#await();
  };

  #createTimer(): StreamMinRateTimer {
    return new StreamMinRateTimer(this.#carrier.sending, {
      bytes: () => this.bytesIn,
      onLate: () => this.#delivery?.reject("requestTimeout"),
    });
  }

  #passHeld(body: ClientBody): void {
    this.#isPassing = true;
    while (body.wanted && !this.#isClosed) {
      const piece = this.#held.shift();
      if (piece === undefined) break;
      this.#carrier.countHeld(-piece.length);
      body.write(ByteView.of(piece));
      this.consume(piece.length);
      body.flush();
    }
    this.#isPassing = false;
  }

  #endBody(): void {
    const body = this.#body;
    if (body === null || body.ended || this.#isPassing) return;
    this.#sending?.close();
    this.#linger?.close();
    body.end(this.#trailers);
  }

  /** Starts the timer of the body, except for gRPC. After an early response, LINGER limits the rest of the body. */
  #await(): void {
    if (this.#hasEnded || this.#delivery?.isOver) return;
    if (this.#delivery?.limitsSilence) this.#sending?.run();
  }

  /** Connects the stream with an upstream that has agreed to a WebSocket. */
  #join(upstream: TunnelledUpstream): void {
    const tunnel = new StreamTunnel(upstream, {
      writer: this.writer,
      countHeld: (bytes) => this.#carrier.countHeld(bytes),
      consume: (bytes) => this.consume(bytes),
      upstreamClosed: () => this.#closeIfOver(),
      reset: (code) => this.#carrier.reset(this.id, code),
    });
    this.#tunnel = tunnel;
    const held = this.#held;
    this.#held = [];
    for (const piece of held) {
      this.#carrier.countHeld(-piece.length);
      tunnel.send(ByteView.of(piece));
    }
    if (this.#hasEnded) tunnel.end();
  }

  /** Closes the stream when the exchange is over, and both sides have ended the stream or the client need not do so. */
  #closeIfOver(): void {
    if (this.#isClosed || !this.#hasAnswered) return;
    if (this.#delivery !== null && !this.#delivery.isOver) return;
    if (this.#hasEnded) this.#carrier.ended(this.id);
    else if (this.isConnect && this.#tunnel?.isClosed !== false) this.#carrier.reset(this.id, errorCode.noError);
  }

  /** Called when the exchange is over. Discards the rest of the body, so that the client can read the response. */
  #letGo(): void {
    this.#closeIfOver();
    const body = this.#body;
    if (body === null || body.ended || this.#isClosed) return;
    this.#sending?.close();
    if (!this.#hasEnded) {
      this.#linger = new IdleTimer(() => this.#carrier.reset(this.id, errorCode.noError));
      this.#linger.start(LINGER);
    }
    body.drop();
  }

  /** Called when the response has been written. */
  #answered(): void {
    this.#hasAnswered = true;
    this.#closeIfOver();
  }

  /** Discards the pieces that were not wanted. */
  #release(): void {
    for (const piece of this.#held) this.#carrier.countHeld(-piece.length);
    this.#held = [];
  }
}
