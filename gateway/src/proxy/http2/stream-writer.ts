/** The response on a client's stream, no faster than the client takes it. */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { MemoryAccount } from "../listener/client-memory.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { passedTrailers, responseFields, sizeOf } from "./fields.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "./stream-min-rate-timer.ts";

export interface ResponseShape {
  /** No body follows. */
  readonly ended: boolean;
  /** Trailers may follow the body. */
  readonly trailers: boolean;
}

/** What the stream is counted with. */
export interface StreamMemory {
  readonly account: MemoryAccount;
  /** That were admitted for the stream. */
  readonly bytes: number;
}

/** Frames of a connection that wait for its client while interim responses join them. */
const MOST_WAITING = 256;
const NO_TRAILERS: OutgoingHttpHeaders = {};
const OK = 200;
/** Every head begins with `HTTP/1.1 200 `, as it were: sizes compare with those of the other engine. */
const STATUS_LINE = 13;

export class StreamWriter {
  /** Bytes so far. */
  written = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #turns: ConnectionActivity;
  readonly #memory: StreamMemory;
  /** Bytes that wait for the client, as they are counted. */
  #waiting = 0;
  /** Null as long as the client has taken all at once. */
  #taking: StreamMinRateTimer | null = null;
  #trailers = NO_TRAILERS;

  /** @param turns Of the responses that clients have to take */
  constructor(stream: ServerHttp2Stream, turns: ConnectionActivity, memory: StreamMemory) {
    this.#stream = stream;
    this.#turns = turns;
    this.#memory = memory;
    stream.on("drain", this.#onTaken);
    stream.once("close", () => {
      this.#onTaken();
      this.#taking?.close();
    });
    stream.once("wantTrailers", () => stream.sendTrailers(this.#trailers));
  }

  /** Whether the client takes more now; the stream's "drain" tells when it does again. */
  get isTaking(): boolean {
    return !this.#stream.writableNeedDrain;
  }

  /** Bytes that the client has taken so far. */
  get #taken(): number {
    return this.written - this.#stream.writableLength;
  }

  get #isOver(): boolean {
    return this.#stream.closed || this.#stream.destroyed;
  }

  interim(status: number, headers: readonly string[]): void {
    if (this.#isOver || this.#stream.headersSent) return;
    // They flow as they like, whether the client takes anything or not; it can do without them.
    if ((this.#stream.session?.state.outboundQueueSize ?? 0) > MOST_WAITING) return;
    const fields: OutgoingHttpHeaders = { ...passedTrailers(headers), ":status": status };
    this.#stream.additionalHeaders(fields);
  }

  /** Throws when a header is none. */
  head(status: number, headers: readonly string[], { ended, trailers }: ResponseShape): void {
    if (this.#isOver) return;
    const fields = responseFields(status, headers);
    this.written += STATUS_LINE + sizeOf(fields);
    this.#stream.respond(fields, { endStream: ended, waitForTrailers: trailers && !ended });
  }

  data(piece: Buffer): void {
    const stream = this.#stream;
    if (this.#isOver || stream.writableEnded) return;
    this.written += piece.length;
    if (!stream.write(piece)) this.#wait();
  }

  /** @param trailers Flat; sent when the head said that they may follow. */
  end(trailers: readonly string[] | null): void {
    if (this.#isOver) return;
    if (trailers !== null) {
      this.#trailers = passedTrailers(trailers);
      this.written += sizeOf(trailers);
    }
    const stream = this.#stream;
    stream.end();
    // What has ended tells of its end only: "drain" does not come any more.
    if (stream.writableLength === 0) this.#onTaken();
    else {
      stream.once("finish", this.#onTaken);
      this.#wait();
    }
  }

  /** A response of the gateway's own. For gRPC it is a head that is the end too ("Trailers-Only"), and 200 of it is the transport's. */
  own({ status, headers, body }: GatewayResponse, method: string): void {
    if (headers.includes("grpc-status") && body === "") {
      this.head(OK, withoutLength(headers), { ended: true, trailers: false });
    } else {
      const bodiless = method === "HEAD" || body === "";
      this.head(status, headers, { ended: bodiless, trailers: false });
      if (!bodiless) this.data(Buffer.from(body, "utf8"));
    }
    this.end(null);
  }

  /** The client has to take what was written. */
  #wait(): void {
    this.#taking ??= new StreamMinRateTimer(this.#turns, {
      bytes: () => this.#taken,
      onLate: () => this.breakOff("the client took nothing"),
    });
    this.#taking.run();
    const { account, bytes } = this.#memory;
    const before = this.#waiting;
    this.#waiting = this.#stream.writableLength;
    if (this.#waiting > 0) account.wait(this.#waiting - before, before === 0 ? bytes : 0);
  }

  /** Nothing waits for the client any more. */
  readonly #onTaken = (): void => {
    this.#taking?.pause();
    if (this.#waiting === 0) return;
    this.#memory.account.taken(this.#waiting, this.#memory.bytes);
    this.#waiting = 0;
  };

  /** The client gets no more of the response, and is told that it was not all: `close` would end it as if it were. */
  breakOff(reason: string): void {
    this.#stream.destroy(new Error(reason));
  }
}

const withoutLength = (headers: readonly string[]): readonly string[] => {
  const at = headers.indexOf("Content-Length");
  return at < 0 ? headers : headers.toSpliced(at, 2);
};
