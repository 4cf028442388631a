/**
 * A request's body on its way to the upstream: streamed without being gathered, unless a plugin asks to see it. It
 * stands between client and upstream connection, so that the fall of one does not tear down the other.
 */
import { Readable } from "node:stream";
import type { RequestBody } from "./request-body.ts";

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

  /** What to give to an HTTP client. The same at every call, as long as `begun` is false. */
  open(writeTimeout: number): Buffer | Readable {
    if (this.#whole !== null) return this.#whole;
    this.#stream ??= new ForwardedBody(this.#source, { seen: this.#seen, writeTimeout });
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
      const onClose = () => settle(() => reject(new Error("the client went away before its body ended")));
      source.on("data", onData).on("end", onEnd).on("close", onClose);
    });
  }
}

/** Reads the client only as fast as the upstream takes. Destroying it leaves the client's connection alone. */
class ForwardedBody extends Readable {
  begun = false;
  readonly #source: Readable;
  readonly #seen: readonly Buffer[];
  readonly #writeTimeout: number;
  #stalled: NodeJS.Timeout | undefined;

  constructor(source: Readable, options: { readonly seen: readonly Buffer[]; readonly writeTimeout: number }) {
    super();
    this.#source = source;
    this.#seen = options.seen;
    this.#writeTimeout = options.writeTimeout;
  }

  override _read(): void {
    clearTimeout(this.#stalled);
    if (!this.begun) {
      this.begun = true;
      for (const chunk of this.#seen) this.push(chunk);
      this.#source.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
      if (this.#source.readableEnded) this.#onEnd();
    }
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#stalled);
    this.#source.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    // An answer may come before the body ended; the rest is read away so that the client gets to read it.
    if (!this.#source.destroyed && !this.#source.readableEnded) this.#source.resume();
    done(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.push(chunk)) return;
    this.#source.pause();
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(
      () => this.destroy(new WriteTimeoutError("the upstream took no data")),
      this.#writeTimeout,
    );
  };

  readonly #onEnd = (): void => {
    this.push(null);
  };

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) this.destroy(new Error("the client went away before its body ended"));
  };
}
