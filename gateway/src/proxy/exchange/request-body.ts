/** The client disconnected or sent a malformed body: the rest does not arrive, and no response is expected. */
export class BodyLostError extends Error {
  override readonly name = "BodyLostError";

  constructor() {
    super("the client went away before its body ended");
  }
}

/** A request's body as plugins and the pipeline may read it; the engine forwards it. */
export interface RequestBody {
  /** Bytes that will be forwarded; null when unknown before the end of the body. */
  readonly length: number | null;
  /** True once a byte may have reached an upstream: no other can be tried then. */
  readonly begun: boolean;
  /** The complete body; null when longer than `limit` bytes. It is still forwarded. Rejects with BodyLostError. */
  read(limit: number): Promise<Buffer | null>;
  /** Forwards other bytes instead. The rest of the client's body is discarded. */
  replace(body: Buffer): void;
}
