/** Writes the response to a client's stream, no faster than the client reads it. */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { MemoryAccount } from "../listener/client-memory.ts";
import type { GatewayResponse } from "../response/gateway-response.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "../timers/stream-min-rate-timer.ts";
import { passedTrailers, responseFields, sizeOf } from "./fields.ts";

export interface ResponseShape {
  /** Whether the response has no body. */
  readonly ended: boolean;
  /** Whether trailers may follow the body. */
  readonly trailers: boolean;
}

/** Memory accounting of the stream. */
export interface StreamMemory {
  readonly account: MemoryAccount;
  /** Bytes admitted for the stream. */
  readonly bytes: number;
}

/** Queued frames of a connection above which interim responses are dropped. */
const MOST_WAITING = 256;
const NO_TRAILERS: OutgoingHttpHeaders = {};
const OK = 200;
/** Bytes of `HTTP/1.1 200 `, counted for every head, so that sizes are comparable with those of HTTP/1.1. */
const STATUS_LINE = 13;

export class StreamWriter {
  /** Bytes written so far. */
  written = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #turns: ConnectionActivity;
  readonly #memory: StreamMemory;
  /** Bytes that the client has not read yet, as counted in the account. */
  #waiting = 0;
  /** Null until the client leaves data unread. */
  #taking: StreamMinRateTimer | null = null;
  #trailers = NO_TRAILERS;

  /** @param turns Shared by the responses of the connection */
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

  /** Whether the client accepts data now; otherwise "drain" of the stream follows. */
  get isTaking(): boolean {
    return !this.#stream.writableNeedDrain;
  }

  /** Bytes that the client has accepted so far. */
  get #taken(): number {
    return this.written - this.#stream.writableLength;
  }

  get #isOver(): boolean {
    return this.#stream.closed || this.#stream.destroyed;
  }

  interim(status: number, headers: readonly string[]): void {
    if (this.#isOver || this.#stream.headersSent) return;
    // Interim responses are not flow-controlled, and the client can do without them.
    if ((this.#stream.session?.state.outboundQueueSize ?? 0) > MOST_WAITING) return;
    const fields: OutgoingHttpHeaders = { ...passedTrailers(headers), ":status": status };
    this.#stream.additionalHeaders(fields);
  }

  /** Throws when a header is invalid. */
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

  /** @param trailers Flat list; sent only if `head` announced trailers. */
  end(trailers: readonly string[] | null): void {
    if (this.#isOver) return;
    if (trailers !== null) {
      this.#trailers = passedTrailers(trailers);
      this.written += sizeOf(trailers);
    }
    const stream = this.#stream;
    stream.end();
    // After `end` the stream emits "finish" only, no "drain".
    if (stream.writableLength === 0) this.#onTaken();
    else {
      stream.once("finish", this.#onTaken);
      this.#wait();
    }
  }

  /**
   * Writes a response that the gateway itself generated. For gRPC it is "Trailers-Only": one head that also ends the
   * stream, with the HTTP status 200.
   */
  own({ status, headers, body }: GatewayResponse, method: string): void {
    if (headers.includes("grpc-status") && body.length === 0) {
      this.head(OK, withoutLength(headers), { ended: true, trailers: false });
    } else {
      const bodiless = method === "HEAD" || body.length === 0;
      this.head(status, headers, { ended: bodiless, trailers: false });
      if (!bodiless) this.data(typeof body === "string" ? Buffer.from(body) : body);
    }
    this.end(null);
  }

  /** Starts the timer: response data is waiting for the client. */
  #wait(): void {
    this.#taking ??= new StreamMinRateTimer(this.#turns, {
      bytes: () => this.#taken,
      onLate: () => this.breakOff("the client read too slowly"),
    });
    this.#taking.run();
    const { account, bytes } = this.#memory;
    const before = this.#waiting;
    this.#waiting = this.#stream.writableLength;
    if (this.#waiting > 0) account.wait(this.#waiting - before, before === 0 ? bytes : 0);
  }

  /** Called when the client has accepted all data, or the stream has closed. */
  readonly #onTaken = (): void => {
    this.#taking?.pause();
    if (this.#waiting === 0) return;
    this.#memory.account.taken(this.#waiting, this.#memory.bytes);
    this.#waiting = 0;
  };

  /** Resets the stream, so that the client knows the response is incomplete; `close` would end it as if complete. */
  breakOff(reason: string): void {
    this.#stream.destroy(new Error(reason));
  }
}

const withoutLength = (headers: readonly string[]): readonly string[] => {
  const at = headers.indexOf("Content-Length");
  return at < 0 ? headers : headers.toSpliced(at, 2);
};
