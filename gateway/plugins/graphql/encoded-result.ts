/** A result with Content-Encoding, which is decoded when it has arrived. */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer;

/** By codings of RFC 9110 section 8.4.1, RFC 7932 and RFC 8878. */
const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflateSync],
  ["br", brotliDecompressSync],
  ["zstd", zstdDecompressSync],
]);

/** Maximum bytes of a decoded result. Decoding as many takes some milliseconds, in which the worker serves no others. */
const MAX_DECODED = 1_048_576;

export class EncodedResult {
  readonly #decode: Decode;
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #length = 0;

  private constructor(decode: Decode, limit: number) {
    this.#decode = decode;
    this.#limit = limit;
  }

  /**
   * Null: the coding is not known.
   *
   * @param limit Maximum bytes of the decoded result
   */
  static of(coding: string, limit: number): EncodedResult | null {
    const decode = decoders.get(coding.trim().toLowerCase());
    return decode === undefined ? null : new EncodedResult(decode, Math.min(limit, MAX_DECODED));
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#limit) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  /** Null: the result is too long, or is not encoded as its header says. */
  decoded(): Buffer | null {
    if (this.#length > this.#limit) return null;
    try {
      return this.#decode(Buffer.concat(this.#pieces), { maxOutputLength: this.#limit });
    } catch {
      return null;
    }
  }
}
