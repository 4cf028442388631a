/** Why a stream to an upstream ended before its response did. */
import { constants } from "node:http2";
import { errorCodeOf } from "../upstream/failure.ts";
import { closedEarly, UpstreamError } from "../upstream/upstream-errors.ts";

/** By their codes (RFC 9113 section 7). */
const names = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
] as const;

/** The upstream says that it has done nothing with the request (RFC 9113 section 8.7). */
export const isUnprocessed = (rstCode: number): boolean => rstCode === constants.NGHTTP2_REFUSED_STREAM;

/**
 * @param rstCode As the stream was reset with; 0 and CANCEL also when its connection broke
 * @param error The stream's own
 */
export function streamError(rstCode: number, error: Error | null): Error {
  if (error !== null && !errorCodeOf(error).startsWith("ERR_HTTP2_")) return error;
  if (rstCode === constants.NGHTTP2_NO_ERROR || rstCode === constants.NGHTTP2_CANCEL) return closedEarly();
  return new UpstreamError("SLUICE_STREAM_RESET", `the upstream ended the stream: ${names[rstCode] ?? rstCode}`);
}
