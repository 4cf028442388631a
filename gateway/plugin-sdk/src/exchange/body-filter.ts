import type { Transform } from "node:stream";

/**
 * A filter of the body of one response, created by the phase `responseBody`.
 *
 * A filter sees the bytes as the upstream or the previous filter sent them: a body with Content-Encoding stays encoded,
 * and a partial response (206) has only its part. The gateway sets Content-Length or Transfer-Encoding; other headers
 * that describe the body (such as ETag) are left to the plugin.
 */
export type BodyFilter = StreamingBodyFilter | BufferingBodyFilter | TransformingBodyFilter | BodyObserver;

/**
 * Sees the body as the upstream sent it or the gateway created it, before any filter, and changes neither the body nor
 * how it is sent. It also sees the end of a response to HEAD. It does not see a body that ends only when the upstream
 * closes the connection, because that body may have been truncated.
 */
export interface BodyObserver {
  /** The buffer may be kept, because its bytes do not change after the call. Pieces have arbitrary boundaries. */
  observe(piece: Buffer): void;
  /** Called at the end of a complete body. Not called if the upstream aborts the body or the client disconnects. */
  complete(): void;
}

/**
 * Filters the body piece by piece. The head is sent before the first piece, without Content-Length, unless another
 * filter buffers the body or the gateway itself created the response.
 */
export interface StreamingBodyFilter {
  /** Returns the bytes that replace this piece; an empty buffer removes it. Pieces have arbitrary boundaries. */
  piece(bytes: Buffer): Buffer;
  /**
   * Called after the last piece. Returns bytes to add at the end of the body.
   *
   * @param trailers The trailers of the upstream's response as a flat list: name, value, name, value
   */
  end?(trailers: readonly string[]): Buffer;
}

/** Filters the body as a whole. The head is held until `whole` returns, so `whole` may still edit the headers. */
export interface BufferingBodyFilter {
  /** Maximum bytes of a body to be buffered. */
  readonly limit: number;
  /** Whether a longer body is sent unchanged, or refused: replaced by a response with status 502. */
  readonly longer: "unchanged" | "refused";
  /** Returns the bytes that replace the body. Both the body and the result may be empty. */
  whole(body: Buffer): Buffer;
}

/**
 * Passes the body through a stream, such as one of node:zlib, which may work asynchronously. The stream receives the
 * body after all filters of other kinds, no faster than the client reads its output.
 */
export interface TransformingBodyFilter {
  /**
   * Called before the head is sent, so it may still edit the headers. The head is sent without Content-Length. Not
   * called for the gateway's own responses and for responses to HEAD, which stay as they are.
   *
   * @returns A new stream of bytes. It is destroyed if the client disconnects or the upstream aborts the body. An error
   * of it aborts the response.
   */
  transform(): Transform;
}
