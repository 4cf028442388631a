/** A response that is held until the phase `response` of all plugins has ended. */
export interface HeldResponse {
  readonly status: number;
  /**
   * The headers as the upstream sent them, or as the gateway created them, with the edits that plugins have made in the
   * phase `response` so far. A flat list: name, value, name, value.
   */
  readonly headers: readonly string[];
  /** False for HEAD, for statuses that allow no body (204, 304), and for gRPC. */
  readonly hasBody: boolean;
  /**
   * The complete body; null when longer than `limit` bytes. The body is still sent. A body with Content-Encoding stays
   * encoded. Rejects if the upstream aborts the body, or if the client disconnects.
   */
  body(limit: number): Promise<Buffer | null>;
}
