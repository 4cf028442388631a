/** One request of a client's connection of HTTP/2: its head, its body as it comes, and its delivery. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TrafficCounters } from "../exchange/live-exchange.ts";
import { foldedName } from "../headers/header-names.ts";
import { ClientBody } from "../http1/client-body.ts";
import type { ConnectionPeer } from "../http1/client-head.ts";
import { IdleTimer } from "../http1/idle-timer.ts";
import { knownId } from "../http1/parse/names.ts";
import type { HeadLimits } from "../http1/parse/request-head.ts";
import { linesOf, passedTrailers } from "./fields.ts";
import { Http2Exchange, type Http2ExchangeContext } from "./http2-exchange.ts";
import type { SessionCheck } from "./session-check.ts";
import { StreamHead } from "./stream-head.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "./stream-min-rate-timer.ts";
import { type StreamMemory, StreamWriter } from "./stream-writer.ts";

export interface StreamContext extends Http2ExchangeContext {
  readonly limits: HeadLimits;
}

export interface StreamFacts {
  readonly stream: ServerHttp2Stream;
  /** Flat, with pseudo-fields. */
  readonly fields: readonly string[];
  /** Bytes of the fields. */
  readonly size: number;
  /** No body follows. */
  readonly ended: boolean;
  readonly peer: ConnectionPeer;
  /** Of the bodies that the connection's client has to send. */
  readonly sending: ConnectionActivity;
  /** Of the responses that it has to take. */
  readonly taking: ConnectionActivity;
  readonly memory: StreamMemory;
  /** Told of what comes of the body. */
  readonly check: SessionCheck;
}

/** Milliseconds that a client may go on sending what nobody reads. */
const LINGER = 30_000;

export class ClientStream implements TrafficCounters {
  bytesIn: number;
  readonly #stream: ServerHttp2Stream;
  readonly #check: SessionCheck;
  readonly #writer: StreamWriter;
  readonly #body: ClientBody | null;
  readonly #delivery: Http2Exchange | null;
  /** Runs while the client owes us of its body; null when there is none. */
  readonly #sending: StreamMinRateTimer | null;
  /** Runs behind an early answer. */
  readonly #linger = new IdleTimer(() => this.#stream.close(constants.NGHTTP2_NO_ERROR));
  #awaitsContinue: boolean;
  #isRead = false;
  /** An empty body ends before anybody has read it. */
  #hasEnded = false;
  #trailers = "";

  constructor(context: StreamContext, facts: StreamFacts) {
    const { stream, fields, ended, peer, sending } = facts;
    const { limits, pipeline } = context;
    this.#stream = stream;
    this.#check = facts.check;
    this.#writer = new StreamWriter(stream, facts.taking, facts.memory);
    this.bytesIn = facts.size;
    const body = ended ? null : (declared: number | null) => new ClientBody(declared, this.#read);
    const head = new StreamHead(fields, { peer, limits, body });
    this.#body = head.body;
    const owed = {
      bytes: () => this.bytesIn,
      onLate: () => this.#delivery?.reject("requestTimeout"),
    };
    this.#sending = head.body === null ? null : new StreamMinRateTimer(sending, owed);
    this.#awaitsContinue = head.body !== null && head.header("expect")?.toLowerCase() === "100-continue";
    stream.on("error", () => {}).once("close", () => this.#closed());
    stream.on("trailers", (_trailers: IncomingHttpHeaders, _flags: number, flat: readonly string[]) => {
      this.#trailers = linesOf(passedTrailers(withoutKnown(flat)));
    });
    stream.once("end", () => this.#onEnd());
    const opened = pipeline.open(head, this);
    if (opened.exchange === undefined) {
      this.#delivery = null;
      this.#writer.own(opened.refusal, head.method);
      this.#letGo();
      return;
    }
    this.#delivery = new Http2Exchange(context, {
      ...{ exchange: opened.exchange, head, writer: this.#writer },
      onOver: () => this.#letGo(),
    });
    stream.on("drain", () => this.#delivery?.drained());
    this.#delivery.run();
  }

  get bytesOut(): number {
    return this.#writer.written;
  }

  /** The body is wanted. */
  readonly #read = (): void => {
    const stream = this.#stream;
    const body = this.#body;
    if (body === null || !body.wanted || stream.destroyed) return;
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      this.#writer.interim(100, []);
    }
    this.#await();
    if (this.#isRead) {
      stream.resume();
      return;
    }
    this.#isRead = true;
    if (this.#hasEnded) this.#endBody(body);
    else stream.on("data", (piece: Buffer) => this.#take(body, piece));
  };

  #take(body: ClientBody, piece: Buffer): void {
    this.bytesIn += piece.length;
    this.#check.came(piece.length);
    body.take(piece);
    body.flush();
    if (body.wanted) this.#await();
    else {
      this.#sending?.pause();
      this.#stream.pause();
    }
  }

  #onEnd(): void {
    this.#hasEnded = true;
    if (this.#body !== null && this.#isRead) this.#endBody(this.#body);
  }

  #endBody(body: ClientBody): void {
    this.#sending?.close();
    this.#linger.close();
    // A stream that breaks off ends too.
    if (this.#stream.aborted) body.lose();
    else body.end(this.#trailers);
  }

  /** Behind an early answer one time is given for all that still comes. */
  #await(): void {
    if (this.#delivery?.isOver) return;
    if (this.#delivery?.limitsSilence) this.#sending?.run();
  }

  /** The response is written; what its client still sends is read away, so that it gets to read it. */
  #letGo(): void {
    const body = this.#body;
    if (body === null || body.ended || this.#stream.destroyed) return;
    this.#sending?.close();
    this.#linger.start(LINGER);
    body.drop();
  }

  #closed(): void {
    this.#sending?.close();
    this.#linger.close();
    this.#delivery?.abort();
    this.#body?.lose();
  }
}

/** A field that routes, authenticates or negotiates must have been seen with the head (RFC 9110 section 6.5.1). */
const withoutKnown = (fields: readonly string[]): string[] => {
  const flat: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? "";
    if (knownId(foldedName(name)) === 0) flat.push(name, fields[at + 1] ?? "");
  }
  return flat;
};
