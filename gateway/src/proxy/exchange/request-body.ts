/** The client went away, or sent what is no body: no more will come, and nobody waits for an answer to it. */
export class BodyLostError extends Error {
  override readonly name = "BodyLostError";

  constructor() {
    super("the client went away before its body ended");
  }
}

/** A request's body as plugins and the pipeline may ask for it; how it reaches the upstream is the engine's matter. */
export interface RequestBody {
  /** Bytes that will be forwarded; null when only the end of the body will tell. */
  readonly length: number | null;
  /** True once a byte may have reached an upstream: then no other can be tried. */
  readonly begun: boolean;
  /** The whole body; null when it is longer than `limit` bytes. It is still forwarded. Rejects with BodyLostError. */
  read(limit: number): Promise<Buffer | null>;
  /** Forwards other bytes instead. What the client still sends is dropped. */
  replace(body: Buffer): void;
}
