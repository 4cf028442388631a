/**
 * A request's body for the upstream: streamed without buffering, unless a plugin reads it. It separates client and
 * upstream connection, so that a failure of one does not destroy the other.
 */
import { Readable } from "node:stream";
import { BodyLostError, type RequestBody } from "../exchange/request-body.ts";

export class WriteTimeoutError extends Error {
  override readonly name = "WriteTimeoutError";
  readonly code = "SLUICE_WRITE_TIMEOUT";
}

export class StreamedBody implements RequestBody {
  readonly #source: Readable;
  /** Content-Length; null when the body is chunked. */
  readonly #declared: number | null;
  #whole: Buffer | null = null;
  #seen: readonly Buffer[] = [];
  #stream: ForwardedBody | null = null;
  #dropped = false;

  constructor(source: Readable, declaredLength: number | null) {
    this.#source = source;
    this.#declared = declaredLength;
  }

  get length(): number | null {
    return this.#whole === null ? this.#declared : this.#whole.length;
  }

  get begun(): boolean {
    return this.#stream?.begun ?? false;
  }

  async read(limit: number): Promise<Buffer | null> {
    if (this.#whole === null) {
      if ((this.#declared ?? 0) > limit || this.#seen.length > 0) return null;
      await this.#gather(limit);
    }
    return this.#whole !== null && this.#whole.length <= limit ? this.#whole : null;
  }

  replace(body: Buffer): void {
    this.#whole = body;
    this.#seen = [];
    if (!this.#source.readableEnded) this.#source.resume();
  }

  /** The body for one attempt of an HTTP client. A stream that was not destroyed is returned again. */
  open(writeTimeout: number): Buffer | Readable {
    if (this.#whole !== null) return this.#whole;
    if (this.#stream === null || this.#stream.destroyed)
      this.#stream = new ForwardedBody(this.#source, {
        seen: this.#seen,
        writeTimeout,
        onRelease: () => this.#release(),
      });
    return this.#stream;
  }

  #gather(limit: number): Promise<void> {
    const source = this.#source;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const settle = (done: () => void) => {
        source.off("data", onData).off("end", onEnd).off("close", onClose);
        done();
      };
      const onData = (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length <= limit) return;
        source.pause();
        this.#seen = chunks;
        settle(resolve);
      };
      const onEnd = () => {
        this.#whole = Buffer.concat(chunks);
        settle(resolve);
      };
      const onClose = () => settle(() => reject(new BodyLostError()));
      source.on("data", onData).on("end", onEnd).on("close", onClose);
    });
  }

  /** No further attempt follows: the rest of the body is discarded, so that the client can read its response. */
  drop(): void {
    this.#dropped = true;
    if (this.#stream === null || this.#stream.destroyed) this.#release();
  }

  /** The body is no longer being forwarded. */
  #release(): void {
    const source = this.#source;
    if (source.destroyed || source.readableEnded) return;
    if (this.#dropped) source.resume();
    else source.pause();
  }
}

interface ForwardedOptions {
  readonly seen: readonly Buffer[];
  readonly writeTimeout: number;
  /** Called when reading stops. */
  readonly onRelease: () => void;
}

/** Reads from the client only as fast as the upstream accepts. Destroying it keeps the client's connection. */
class ForwardedBody extends Readable {
  /** Whether data has been passed to the upstream. */
  begun = false;
  #isAttached = false;
  readonly #source: Readable;
  readonly #seen: readonly Buffer[];
  readonly #writeTimeout: number;
  readonly #onRelease: () => void;
  #stalled: NodeJS.Timeout | undefined;

  constructor(source: Readable, options: ForwardedOptions) {
    super();
    this.#onRelease = options.onRelease;
    this.#source = source;
    this.#seen = options.seen;
    this.#writeTimeout = options.writeTimeout;
  }

  override _read(): void {
    clearTimeout(this.#stalled);
    if (!this.#isAttached) {
      this.#isAttached = true;
      for (const chunk of this.#seen) this.#give(chunk);
      this.#source.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
      if (this.#source.readableEnded) this.#onEnd();
    }
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#stalled);
    this.#source.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    this.#onRelease();
    done(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#give(chunk)) return;
    this.#source.pause();
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(
      () => this.destroy(new WriteTimeoutError("the upstream took no data")),
      this.#writeTimeout,
    );
  };

  #give(chunk: Buffer): boolean {
    this.begun = true;
    return this.push(chunk);
  }

  readonly #onEnd = (): void => {
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) this.destroy(new BodyLostError());
  };
}
