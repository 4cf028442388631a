/** One HTTP/2 request of a client: its head, its body, and its exchange. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { foldedName } from "@sluice/plugin-sdk";
import { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import type { TrafficCounters } from "../exchange/live-exchange.ts";
import { knownId } from "../http1/parse/field-names.ts";
import type { HeadLimits } from "../http1/parse/head-parser.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { IdleTimer } from "../timers/idle-timer.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "../timers/stream-min-rate-timer.ts";
import { linesOf, passedTrailers } from "./fields.ts";
import { Http2Exchange, type Http2ExchangeContext } from "./http2-exchange.ts";
import type { SessionCheck } from "./session-check.ts";
import { StreamHead } from "./stream-head.ts";
import { type StreamMemory, StreamWriter } from "./stream-writer.ts";

export interface StreamContext extends Http2ExchangeContext {
  readonly limits: HeadLimits;
}

export interface StreamFacts {
  readonly stream: ServerHttp2Stream;
  /** Flat list, with pseudo-header fields. */
  readonly fields: readonly string[];
  /** Bytes of the fields. */
  readonly size: number;
  /** Whether the request has no body. */
  readonly ended: boolean;
  readonly peer: ConnectionPeer;
  /** Shared by the request bodies of the connection. */
  readonly sending: ConnectionActivity;
  /** Shared by the responses of the connection. */
  readonly taking: ConnectionActivity;
  readonly memory: StreamMemory;
  /** Counts the received bytes of the body. */
  readonly check: SessionCheck;
}

/** Milliseconds that a client may continue to send a body that is discarded. */
const LINGER = 30_000;

export class ClientStream implements TrafficCounters {
  bytesIn: number;
  readonly #stream: ServerHttp2Stream;
  readonly #check: SessionCheck;
  readonly #writer: StreamWriter;
  readonly #body: ClientBody | null;
  readonly #delivery: Http2Exchange | null;
  /** Runs while the gateway waits for the body, except for gRPC; null without a body. */
  readonly #sending: StreamMinRateTimer | null;
  /** Runs after an early response. */
  readonly #linger = new IdleTimer(() => this.#stream.close(constants.NGHTTP2_NO_ERROR));
  #awaitsContinue: boolean;
  #isRead = false;
  /** Whether the client has ended its side of the stream. An empty body ends before reading begins. */
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
      exchange: opened.exchange,
      writer: this.#writer,
      onOver: () => this.#letGo(),
    });
    stream.on("drain", () => this.#delivery?.resumeCall());
    this.#delivery.run();
  }

  get bytesOut(): number {
    return this.#writer.written;
  }

  /** Called when the body is wanted. */
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
    else stream.on("data", (piece: Buffer) => this.#deliver(body, piece));
  };

  #deliver(body: ClientBody, piece: Buffer): void {
    this.bytesIn += piece.length;
    this.#check.came(piece.length);
    body.take(ByteView.of(piece));
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
    // An aborted stream emits "end" too.
    if (this.#stream.aborted) body.lose();
    else body.end(this.#trailers);
  }

  /** Starts the timer of the body, except for gRPC. After an early response, LINGER limits the rest of the body. */
  #await(): void {
    if (this.#delivery?.isOver) return;
    if (this.#delivery?.limitsSilence) this.#sending?.run();
  }

  /** Called when the response is complete. Discards the rest of the body, so that the client can read the response. */
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

/**
 * Drops trailers with known names: fields that route, authenticate or negotiate must arrive with the head (RFC 9110
 * section 6.5.1).
 */
const withoutKnown = (fields: readonly string[]): string[] => {
  const flat: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? "";
    if (knownId(foldedName(name)) === 0) flat.push(name, fields[at + 1] ?? "");
  }
  return flat;
};
