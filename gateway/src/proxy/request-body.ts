/** A request's body as plugins and the pipeline may ask for it; how it reaches the upstream is the engine's matter. */
export interface RequestBody {
  /** Bytes that will be forwarded; null when only the end of the body will tell. */
  readonly length: number | null;
  /** True once a byte may have reached an upstream: then no other can be tried. */
  readonly begun: boolean;
  /** The whole body; null when it is longer than `limit` bytes. It is still forwarded. Rejects when the client goes away. */
  read(limit: number): Promise<Buffer | null>;
  /** Forwards other bytes instead. What the client still sends is dropped. */
  replace(body: Buffer): void;
}
