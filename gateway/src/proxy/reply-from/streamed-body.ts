/**
 * A request's body on its way to the upstream: streamed without being gathered, unless a plugin asks to see it. It
 * stands between client and upstream connection, so that the fall of one does not tear down the other.
 */
import { Readable } from "node:stream";
import { BodyLostError, type RequestBody } from "../exchange/request-body.ts";

export class WriteTimeoutError extends Error {
  override readonly name = "WriteTimeoutError";
  readonly code = "SLUICE_WRITE_TIMEOUT";
}

export class StreamedBody implements RequestBody {
  readonly #source: Readable;
  /** Bytes by Content-Length; null when the body is chunked. */
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

  /** What to give to an HTTP client at every try. One that is still there is the same again. */
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

  /** There will be no other try: what is still to come is read away, so that the client gets to read its answer. */
  drop(): void {
    this.#dropped = true;
    if (this.#stream === null || this.#stream.destroyed) this.#release();
  }

  /** Nobody reads the client now. */
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
  /** It reads no more. */
  readonly onRelease: () => void;
}

/** Reads the client only as fast as the upstream takes. Destroying it leaves the client's connection alone. */
class ForwardedBody extends Readable {
  /** Whether anything has left. */
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
