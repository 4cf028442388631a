/** Writes the response to a client's stream, no faster than the client reads it. */
import type { MemoryAccount } from "../../listener/client-memory.ts";
import type { GatewayResponse } from "../../response/gateway-response.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { type ConnectionActivity, StreamMinRateTimer } from "../../timers/stream-min-rate-timer.ts";
import { encodePassed, MessageWriter } from "../connection/message-writer.ts";
import type { SendScheduler } from "../connection/send-scheduler.ts";
import { END_STREAM, errorCode, type FrameErrorCode } from "../frames/frame-types.ts";
import type { HpackEncoder } from "../hpack/encoder.ts";
import type { ResponseEncoder } from "./response-encoder.ts";

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

export interface StreamWriterOptions {
  readonly id: number;
  readonly scheduler: SendScheduler;
  readonly responses: ResponseEncoder;
  /** Shared by the responses of the connection. */
  readonly turns: ConnectionActivity;
  readonly memory: StreamMemory;
  /** Called when the client accepts data again. */
  readonly onDrained: () => void;
  /** Called when the response has been written completely. */
  readonly onEnded: () => void;
  /** Resets the stream. */
  readonly reset: (code: FrameErrorCode) => void;
}

const OK = 200;

export class StreamWriter extends MessageWriter {
  readonly #options: StreamWriterOptions;
  /** Queued bytes, as counted in the account. */
  #counted = 0;
  /** Null until the client leaves data unread. */
  #taking: StreamMinRateTimer | null = null;
  #hasHead = false;

  constructor(options: StreamWriterOptions) {
    super(options.id, options.scheduler);
    this.#options = options;
  }

  interim(status: number, headers: readonly string[]): void {
    const { output, encoder } = this.scheduler;
    // Interim responses are not flow-controlled, and the client can do without them.
    if (this.isOver || this.#hasHead || output.isFull) return;
    encoder.begin();
    encoder.status(status);
    encodePassed(encoder, headers);
    this.writeBlock(encoder, 0);
  }

  /** The encoder for a head, which `finishHead` writes; null: no head can be sent any more. */
  beginHead(): HpackEncoder | null {
    if (this.isOver || this.#hasHead) return null;
    this.#hasHead = true;
    const { encoder } = this.scheduler;
    encoder.begin();
    return encoder;
  }

  finishHead({ ended, trailers }: ResponseShape): void {
    const { encoder } = this.scheduler;
    this.written += encoder.textSize;
    this.mayTrail = trailers && !ended;
    this.writeBlock(encoder, ended ? END_STREAM : 0);
    if (ended) this.finish();
  }

  /** A head whose headers are final. */
  head(status: number, headers: readonly string[], shape: ResponseShape): void {
    const encoder = this.beginHead();
    if (encoder === null) return;
    this.#options.responses.listed(encoder, status, headers);
    this.finishHead(shape);
  }

  /**
   * Writes a response that the gateway itself generated. For gRPC it is "Trailers-Only": one head that also ends the
   * stream, with the HTTP status 200.
   */
  own({ status, headers, body }: GatewayResponse, method: string): void {
    if (headers.includes("grpc-status") && body.length === 0) {
      this.head(OK, withoutLength(headers), { ended: true, trailers: false });
      return;
    }
    const bodiless = method === "HEAD" || body.length === 0;
    this.head(status, headers, { ended: bodiless, trailers: false });
    if (!bodiless) this.data(ByteView.of(typeof body === "string" ? Buffer.from(body) : body));
    this.end(null);
  }

  /** Resets the stream, so that the client knows the response is incomplete. */
  breakOff(): void {
    if (!this.isOver) this.#options.reset(errorCode.internalError);
  }

  override close(): void {
    super.close();
    this.#taking?.close();
  }

  protected override onDrained(): void {
    this.#options.onDrained();
  }

  protected override onEnded(): void {
    this.#taking?.close();
    this.#options.onEnded();
  }

  /** Starts the timer: response data is waiting for the client. */
  protected override onQueued(): void {
    this.#taking ??= new StreamMinRateTimer(this.#options.turns, {
      bytes: () => this.written - this.queuedBytes,
      onLate: () => this.breakOff(),
    });
    this.#taking.run();
    this.#count();
  }

  protected override onTaken(): void {
    if (this.queuedBytes > 0) {
      this.#count();
      return;
    }
    this.#taking?.pause();
    if (this.#counted === 0) return;
    const { account, bytes } = this.#options.memory;
    account.taken(this.#counted, bytes);
    this.#counted = 0;
  }

  #count(): void {
    const { account, bytes } = this.#options.memory;
    const before = this.#counted;
    this.#counted = this.queuedBytes;
    if (this.#counted > 0) account.wait(this.#counted - before, before === 0 ? bytes : 0);
  }
}

const withoutLength = (headers: readonly string[]): readonly string[] => {
  const at = headers.indexOf("Content-Length");
  return at < 0 ? headers : headers.toSpliced(at, 2);
};
