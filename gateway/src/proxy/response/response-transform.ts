/**
 * The streams of plugins through which the body of one response passes. Their output goes to the client no faster than
 * the client reads, and they take input no faster than they process it.
 */
import type { Transform } from "node:stream";
import { ByteView } from "../sockets/byte-view.ts";

export interface ResponseTransformListener {
  /** A piece of the output. Returns false when no more may follow before `resume`. */
  transformed(view: ByteView): boolean;
  /** Called when the streams accept more input, after `isFull` was true, and the output does not wait for `resume`. */
  transformDrained(): void;
  /** Called after the last piece of the output. */
  transformEnded(): void;
  transformFailed(error: Error): void;
}

export class ResponseTransform {
  readonly #first: Transform;
  readonly #last: Transform;
  readonly #streams: readonly Transform[];

  /** @param streams At least one */
  constructor(streams: readonly Transform[], listener: ResponseTransformListener) {
    const [first, last] = [streams[0], streams.at(-1)];
    if (first === undefined || last === undefined) throw new Error("a transformation needs a stream");
    this.#first = first;
    this.#last = last;
    this.#streams = streams;
    for (const [at, stream] of streams.entries()) {
      stream.on("error", (error) => {
        this.destroy();
        listener.transformFailed(error);
      });
      const next = streams[at + 1];
      if (next !== undefined) stream.pipe(next);
    }
    // While the output waits for the client, `resume` continues the input too.
    first.on("drain", () => {
      if (!last.isPaused()) listener.transformDrained();
    });
    last
      .on("data", (piece: unknown) => {
        const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
        if (!Buffer.isBuffer(bytes)) last.destroy(new TypeError("a stream of a body filter gave no bytes"));
        else if (!listener.transformed(ByteView.of(bytes))) last.pause();
      })
      .once("end", () => listener.transformEnded());
  }

  /** Whether no more input may follow now. `transformDrained` follows, or `resume` is called. */
  get isFull(): boolean {
    return this.#first.writableNeedDrain;
  }

  write(piece: Buffer): void {
    this.#first.write(piece);
  }

  /** Called at the end of the input. */
  end(): void {
    this.#first.end();
  }

  /** Continues after `transformed` has returned false. */
  resume(): void {
    this.#last.resume();
  }

  /** Called when the response has been broken off. No more output follows. */
  destroy(): void {
    for (const stream of this.#streams) stream.destroy();
  }
}
